package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"weft/routeserver/internal/wire"
)

// exabgp is ExaBGP 4.2. It has no table to query: a helper process (a pipe here) gets every message and gives the
// commands. Notes: it ends the session at an UPDATE with more than one VPLS NLRI (5.0 as well), and at an EVPN route
// whose next hop has 16 bytes; it keeps commands for a neighbour that is not connected, except `announce
// route-refresh`; a connection that comes in while its own is in OpenConfirm leaves it without any, permanently
// (4.2.21: `Peer.run` mistakes the state of the dropped connection for that of the new one); it knows the capability of
// RT-Constrain and cannot be configured for it.
var exabgp = &speaker{
	name:      "ExaBGP",
	programs:  []string{exabgpProgram},
	announces: []wire.Family{wire.VPLS, wire.VPNv4, wire.VPNv6, wire.Flow4, wire.Flow6, wire.FlowVPN4, wire.FlowVPN6},
	learns:    []wire.Family{wire.VPLS, wire.VPNv4, wire.VPNv6, wire.Flow4, wire.Flow6, wire.FlowVPN4, wire.FlowVPN6},
	lacks:     map[wire.Family]string{wire.EVPN: "ExaBGP reads EVPN without announcing it, and takes no next hop of 16 bytes, which is what FRR's type 5 has"},
	graceful:  []wire.Family{wire.VPLS, wire.VPNv4, wire.VPNv6, wire.Flow4, wire.Flow6, wire.FlowVPN4, wire.FlowVPN6},
	start:     func(t *testing.T, at seat) pe { e := &exabgpPE{t: t, seat: at}; e.launch(); return e },
}

const exabgpProgram = "/usr/sbin/exabgp"

type exabgpPE struct {
	seat
	t       *testing.T
	process *process
	routes  []route
	pipe    *os.File // held open, so that commands that nobody reads yet are not lost
}

var exabgpFamilies = map[wire.Family]string{
	wire.VPLS: "l2vpn vpls", wire.VPNv4: "ipv4 mpls-vpn", wire.VPNv6: "ipv6 mpls-vpn", wire.Flow4: "ipv4 flow", wire.Flow6: "ipv6 flow",
	wire.FlowVPN4: "ipv4 flow-vpn", wire.FlowVPN6: "ipv6 flow-vpn",
}

func (e *exabgpPE) file(name string) string { return filepath.Join(e.dir, name) }

// exabgpPipe is the process that ExaBGP starts: it writes ExaBGP's output to a file and reads commands from a pipe.
const exabgpPipe = `#!/bin/sh
cat <>"$1/orders" &
cat >"$1/heard"
kill $!
`

func (e *exabgpPE) launch() {
	e.t.Helper()
	var c strings.Builder
	fmt.Fprintf(&c, "process pipe { run %s %s; encoder json; }\nneighbor %s {\n", e.file("pipe"), e.dir, e.server())
	fmt.Fprintf(&c, " router-id %s; local-address %s; local-as %d; peer-as 65000; hold-time %d;\n", e.id(), e.own(), e.asn, e.hold)
	fmt.Fprintf(&c, " passive %t; listen 179;\n", e.passive)
	if e.password != "" {
		fmt.Fprintf(&c, " md5-password %s;\n", e.password)
	}
	if e.near {
		fmt.Fprintln(&c, " outgoing-ttl 255; incoming-ttl 255;")
	}
	fmt.Fprintf(&c, " capability { route-refresh %[1]s; extended-message %[1]s;", map[bool]string{true: "disable", false: "enable"}[e.plain])
	if e.narrow {
		fmt.Fprint(&c, " asn4 disable;")
	}
	if e.restarts {
		fmt.Fprintf(&c, " graceful-restart %d;", restartTime)
	}
	fmt.Fprintf(&c, " }\n family {")
	for _, f := range e.families {
		fmt.Fprintf(&c, " %s;", exabgpFamilies[f])
	}
	fmt.Fprintln(&c, " }")
	for _, r := range e.routes { // as commands they would come after End-of-RIB
		switch command := e.command(r); r.family {
		case wire.VPLS:
			fmt.Fprintf(&c, " l2vpn { %s; }\n", command)
		case wire.VPNv4, wire.VPNv6:
			fmt.Fprintf(&c, " static { %s; }\n", command)
		default:
			fmt.Fprintf(&c, " flow { %s }\n", strings.TrimPrefix(command, "flow "))
		}
	}
	fmt.Fprintf(&c, " api { processes [ pipe ]; receive { parsed; update; refresh; } neighbor-changes; }\n}\n")
	_ = os.Remove(e.file("orders"))
	_ = os.Remove(e.file("heard"))
	for _, err := range []error{
		os.WriteFile(e.file("conf"), []byte(c.String()), 0o644), os.WriteFile(e.file("pipe"), []byte(exabgpPipe), 0o755), syscall.Mkfifo(e.file("orders"), 0o600),
	} {
		if err != nil {
			e.t.Fatal(err)
		}
	}
	var err error
	if e.pipe, err = os.OpenFile(e.file("orders"), os.O_RDWR, 0); err != nil {
		e.t.Fatal(err)
	}
	e.process = spawn(e.t, "ip", "netns", "exec", e.ns, "env", "exabgp.daemon.user=root", "exabgp.api.cli=false", "exabgp.log.level=INFO",
		"exabgp.tcp.bind="+e.own(), exabgpProgram, e.file("conf"))
	until(e.t, "ExaBGP", func() bool { _, err := os.Stat(e.file("heard")); return err == nil })
}

func (e *exabgpPE) order(line string) {
	e.t.Helper()
	if _, err := fmt.Fprintln(e.pipe, line); err != nil {
		e.t.Fatal(err)
	}
}

// command returns a route in ExaBGP's syntax.
func (e *exabgpPE) command(r route) string {
	switch r.family {
	case wire.VPLS:
		return fmt.Sprintf("vpls rd %s endpoint %d base %d offset 1 size 64 next-hop %s extended-community [ target:%s l2info:19:0:1500:111 ]",
			r.rt(), r.number, r.label(), e.id(), r.rt())
	case wire.VPNv4, wire.VPNv6:
		hop := e.id()
		if r.family == wire.VPNv6 {
			hop = e.hop6()
		}
		return fmt.Sprintf("route %s rd %s next-hop %s label %d extended-community target:%s", r.prefix(), r.rt(), hop, r.label(), r.rt())
	}
	rd, prefix := "", r.prefix()
	if r.family == wire.FlowVPN4 || r.family == wire.FlowVPN6 {
		rd = "rd " + r.rt() + "; "
	}
	if r.family == wire.Flow6 || r.family == wire.FlowVPN6 {
		prefix += "/0" // the offset
	}
	return fmt.Sprintf("flow route { %smatch { destination %s; } then { discard; extended-community target:%s; } }", rd, prefix, r.rt())
}

func (e *exabgpPE) announce(routes ...route) {
	e.t.Helper()
	e.routes = append(e.routes, routes...)
	for _, r := range routes {
		e.order("announce " + e.command(r))
	}
}

func (e *exabgpPE) withdraw(r route) {
	e.t.Helper()
	e.routes = slices.DeleteFunc(e.routes, func(have route) bool { return have == r })
	if e.process != nil {
		e.order("withdraw " + e.command(r))
	}
}

func (e *exabgpPE) kill() { e.process.kill(); e.process = nil; e.pipe.Close() }

func (e *exabgpPE) restart() { e.t.Helper(); e.launch() }

func (e *exabgpPE) daemon() *process { return e.process }

func (e *exabgpPE) refresh(f wire.Family) {
	e.t.Helper()
	e.order("announce route-refresh " + exabgpFamilies[f])
}
