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

// frr is FRR's bgpd: a route map per pool inwards takes the route targets off and marks routes with their pool, one per
// PE outwards takes those on a community list and sets the PE's own route target. (`set extcommunity rt` adds; hence
// `none` inwards.) A change gives one PE another map inwards, which asks it for its routes, and another community list,
// and clears it softly outwards. No route map is edited: each edit costs FRR a copy of all of them, for which reason they
// are also made in one transaction.
type frr struct {
	p      *Process
	conn   net.Conn
	binary string
}

func startFRR(c Cell, w *World, dir string) (Driver, error) {
	if err := os.Chmod(dir, 0o777); err != nil { // bgpd gives up root
		return nil, err
	}
	var t strings.Builder
	fmt.Fprintf(&t, "router bgp %d\n bgp router-id 10.255.0.1\n bgp cluster-id 10.255.0.1\n no bgp default ipv4-unicast\n"+
		" bgp route-reflector allow-outbound-policy\n bgp route-map delay-timer 0\n coalesce-time 0\n", asn)
	for i := range c.PEs {
		a := address(i)
		fmt.Fprintf(&t, " neighbor %[1]s remote-as %[2]d\n neighbor %[1]s passive\n neighbor %[1]s timers connect 1\n", a, asn)
	}
	fmt.Fprintln(&t, " address-family ipv4 vpn")
	for i := range c.PEs {
		fmt.Fprintf(&t, "  neighbor %[1]s activate\n  neighbor %[1]s route-reflector-client\n"+
			"  neighbor %[1]s route-map in%[3]d in\n  neighbor %[1]s route-map out%[2]d out\n", address(i), i, w.pool[i])
	}
	fmt.Fprintln(&t, " exit-address-family\nexit")
	maps := []string{"enable", "configure exclusive"}
	for v := range w.pools {
		maps = append(maps, fmt.Sprintf("route-map in%d permit 10", v), "set extcommunity none", fmt.Sprintf("set community 1:%d", v), "exit")
	}
	for i, v := range w.pool {
		fmt.Fprintf(&t, "bgp community-list standard of%d permit 1:%d\n", i, v)
		maps = append(maps, fmt.Sprintf("route-map out%d permit 10", i), fmt.Sprintf("match community of%d", i), "set community none",
			fmt.Sprintf("set extcommunity rt %d:%d", asn, i+1), "exit")
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
	f := &frr{p: p, binary: c.Tools.Bgpd}
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

func (f *frr) move(s, _, to int) error {
	return f.commands("configure terminal",
		fmt.Sprintf("no bgp community-list standard of%d", s), fmt.Sprintf("bgp community-list standard of%d permit 1:%d", s, to),
		fmt.Sprintf("router bgp %d", asn), "address-family ipv4 vpn", fmt.Sprintf("neighbor %s route-map in%d in", address(s), to), "end",
		fmt.Sprintf("clear bgp ipv4 vpn %s soft out", address(s)))
}

// commands speaks as vtysh does: a command ends with a zero byte, a reply with three and a status.
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
