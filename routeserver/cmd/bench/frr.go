package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// frr is FRR's bgpd, with two route maps per pool. The inbound map removes the route targets and marks routes with
// their pool; the outbound map takes routes with that mark and sets the route targets of all members. (`set
// extcommunity rt` adds; hence `none` inbound.) PEs with the same outbound map form one update group, for which bgpd
// works once; with a map per PE that sets only the PE's own route target, bgpd works for each PE. A change edits the
// outbound maps of both pools in one transaction, since each edit costs a copy of all maps, and gives one PE other
// maps; bgpd then asks that PE for its routes and sends it others. PEs see the route targets of their whole pool.
type frr struct {
	p      *Process
	conn   net.Conn
	w      *World
	binary string
}

func startFRR(c Cell, w *World, dir string) (Driver, error) {
	if err := os.Chmod(dir, 0o777); err != nil { // bgpd drops root privileges
		return nil, err
	}
	var t strings.Builder
	fmt.Fprintf(&t, "router bgp %d\n bgp router-id 10.255.0.1\n bgp cluster-id 10.255.0.1\n no bgp default ipv4-unicast\n"+
		" bgp route-reflector allow-outbound-policy\n bgp route-map delay-timer 0\n coalesce-time 0\n", asn)
	for i := range c.PEs {
		a := address(i)
		fmt.Fprintf(&t, " neighbor %[1]s remote-as %[2]d\n neighbor %[1]s passive\n neighbor %[1]s timers connect 1\n", a, asn)
	}
	fmt.Fprintln(&t, " address-family "+w.family.frr)
	for i := range c.PEs {
		fmt.Fprintf(&t, "  neighbor %[1]s activate\n  neighbor %[1]s route-reflector-client\n"+
			"  neighbor %[1]s route-map in%[2]d in\n  neighbor %[1]s route-map out%[2]d out\n", address(i), w.pool[i])
	}
	fmt.Fprintln(&t, " exit-address-family\nexit")
	maps := []string{"enable", "configure exclusive"}
	for v := range w.pools {
		fmt.Fprintf(&t, "bgp community-list standard of%d permit 1:%d\n", v, v)
		maps = append(maps, fmt.Sprintf("route-map in%d permit 10", v), "set extcommunity none", fmt.Sprintf("set community 1:%d", v), "exit",
			fmt.Sprintf("route-map out%d permit 10", v), fmt.Sprintf("match community of%d", v), "set community none", "exit")
		maps = append(maps, targets(w, v)...)
	}
	config := dir + "/bgpd.conf"
	if err := os.WriteFile(config, []byte(t.String()), 0o644); err != nil {
		return nil, err
	}
	p, err := startProcess(dir, c.Tools.Bgpd, "-Z", "-f", config, "-i", dir+"/bgpd.pid", "--vty_socket", dir, "-l", server,
		"-u", "frr", "-g", "frr", "--tcli", "--log", "stdout", "--log-level", "errors")
	if err != nil {
		return nil, err
	}
	f := &frr{p: p, w: w, binary: c.Tools.Bgpd}
	err = patiently(p, func() (err error) {
		f.conn, err = net.Dial("unix", dir+"/bgpd.vty")
		return err
	})
	if err == nil {
		err = f.commands(append(maps, "commit", "end")...)
	}
	if err != nil {
		p.stop()
		return nil, err
	}
	return f, nil
}

func (f *frr) process() *Process { return f.p }
func (f *frr) version() string   { return output(f.binary, "--version") }

// targets returns the commands that set the route targets in a pool's map.
func targets(w *World, pool int) []string {
	edit := []string{fmt.Sprintf("route-map out%d permit 10", pool), "no set extcommunity rt"}
	if members := w.members(pool); len(members) > 0 {
		set := "set extcommunity rt"
		for _, i := range members {
			set += fmt.Sprintf(" %d:%d", asn, i+1)
		}
		edit[1] = set
	}
	return append(edit, "exit")
}

func (f *frr) move(s, from, to int) error {
	edit := append([]string{"configure exclusive"}, targets(f.w, from)...)
	edit = append(edit, targets(f.w, to)...)
	return f.commands(append(edit, "commit", fmt.Sprintf("router bgp %d", asn), "address-family "+f.w.family.frr,
		fmt.Sprintf("neighbor %s route-map in%d in", address(s), to), fmt.Sprintf("neighbor %s route-map out%d out", address(s), to), "end")...)
}

// commands speaks the protocol of vtysh: a zero byte ends a command; three zero bytes and a status end a reply.
func (f *frr) commands(lines ...string) error {
	for _, line := range lines {
		_ = f.conn.SetDeadline(time.Now().Add(time.Minute))
		if _, err := f.conn.Write(append([]byte(line), 0)); err != nil {
			return err
		}
		var reply []byte
		buf := make([]byte, 4096)
		for len(reply) < 4 || !bytes.Equal(reply[len(reply)-4:len(reply)-1], []byte{0, 0, 0}) {
			n, err := f.conn.Read(buf)
			if err != nil {
				return err
			}
			reply = append(reply, buf[:n]...)
		}
		if status := reply[len(reply)-1]; status != 0 && status != 4 { // CMD_SUCCESS, CMD_SUCCESS_DAEMON
			return errors.New("FRR on \"" + line + "\": " + strings.TrimSpace(string(reply[:len(reply)-4])) + fmt.Sprintf(" (%d)", status))
		}
	}
	return nil
}
