package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weft/routeserver/internal/wire"
)

// bird is BIRD 2. Notes: it treats a VPNv6 route as withdrawn if the next hop is an IPv4-mapped IPv6 address, and sends
// ::1 as its own next hop unless configured otherwise; it binds port 179 of all addresses without `strict bind`; it
// restarts gracefully only if started with -R; a change of its configuration sends the affected routes again.
var bird = &speaker{
	name:      "BIRD",
	programs:  []string{"/usr/sbin/bird", "/usr/sbin/birdc"},
	announces: []wire.Family{wire.VPNv4, wire.VPNv6, wire.Flow4, wire.Flow6},
	learns:    []wire.Family{wire.VPNv4, wire.VPNv6, wire.Flow4, wire.Flow6},
	lacks: map[wire.Family]string{
		wire.VPLS:     "BIRD has no VPLS",
		wire.EVPN:     "BIRD has EVPN from 2.19 on, and Debian has an older one",
		wire.FlowVPN4: "BIRD has filters without an RD only",
		wire.FlowVPN6: "BIRD has filters without an RD only",
	},
	graceful: []wire.Family{wire.VPNv4, wire.VPNv6, wire.Flow4, wire.Flow6},
	helps:    []wire.Family{wire.VPNv4, wire.VPNv6, wire.Flow4, wire.Flow6},
	start:    func(t *testing.T, at seat) pe { b := &birdPE{t: t, seat: at}; b.launch(); return b },
}

type birdPE struct {
	seat
	t       *testing.T
	process *process
	routes  []route
	again   bool
}

// birdTables maps families to channels and tables: BIRD needs one table for each kind of network.
var birdTables = map[wire.Family]string{wire.VPNv4: "vpn4", wire.VPNv6: "vpn6", wire.Flow4: "flow4", wire.Flow6: "flow6"}

func (b *birdPE) file(name string) string { return filepath.Join(b.dir, name) }

func (b *birdPE) configure() {
	b.t.Helper()
	var c strings.Builder
	fmt.Fprintf(&c, "router id %s;\nlog stderr all;\nprotocol device { }\n", b.id())
	for _, kind := range birdTables {
		fmt.Fprintf(&c, "%[1]s table t_%[1]s;\n", kind)
	}
	prepend := ""
	if b.narrow {
		prepend = fmt.Sprintf("bgp_path.prepend(%d); ", farAS)
	}
	for _, r := range b.routes {
		kind, network := birdTables[r.family], r.rt()+" "+r.prefix()+" blackhole"
		if r.family.Flow() {
			network = fmt.Sprintf("%s { dst %s; }", kind, r.prefix())
		}
		fmt.Fprintf(&c, "protocol static s_%s_%d_%d { %s { table t_%s; }; route %s { bgp_ext_community.add((rt,65000,%d)); %s}; }\n",
			kind, r.site, r.number, kind, kind, network, r.site, prepend)
	}
	fmt.Fprintf(&c, "protocol bgp server {\n local %s as %d; neighbor %s as 65000; multihop; strict bind yes;\n", b.own(), b.asn, b.server())
	fmt.Fprintf(&c, " hold time %d; connect delay time 1; connect retry time 1; error wait time 1, 1; error forget time 1;\n", b.hold)
	if b.password != "" {
		fmt.Fprintf(&c, " password \"%s\";\n", b.password)
	}
	if b.near {
		fmt.Fprintln(&c, " ttl security on;")
	}
	if b.passive {
		fmt.Fprintln(&c, " passive;")
	}
	fmt.Fprintf(&c, " enable route refresh %[1]s; enable extended messages %[1]s;\n", map[bool]string{true: "no", false: "yes"}[b.plain])
	if b.narrow {
		fmt.Fprintln(&c, " enable as4 no;")
	}
	if b.restarts {
		fmt.Fprintf(&c, " graceful restart on; graceful restart time %d;\n", restartTime)
	}
	for _, f := range b.families {
		kind, hop := birdTables[f], ""
		if f == wire.VPNv4 || f == wire.VPNv6 {
			kind += " mpls"
			hop = "next hop address " + map[wire.Family]string{wire.VPNv4: b.id(), wire.VPNv6: b.hop6()}[f] + "; "
		}
		fmt.Fprintf(&c, " %s { table t_%s; %simport all; export all; };\n", kind, birdTables[f], hop)
	}
	fmt.Fprintln(&c, "}")
	if err := os.WriteFile(b.file("conf"), []byte(c.String()), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *birdPE) launch() {
	b.t.Helper()
	b.configure()
	args := []string{"netns", "exec", b.ns, "/usr/sbin/bird", "-f", "-c", b.file("conf"), "-s", b.file("ctl"), "-P", b.file("pid")}
	if b.again {
		args = append(args, "-R")
	}
	b.process = spawn(b.t, "ip", args...)
	until(b.t, "BIRD", func() bool { _, err := b.ask("show", "status"); return err == nil })
}

func (b *birdPE) ask(words ...string) (string, error) {
	out, err := exec.Command("/usr/sbin/birdc", append([]string{"-s", b.file("ctl")}, words...)...).CombinedOutput()
	return string(out), err
}

func (b *birdPE) tell(words ...string) string {
	b.t.Helper()
	out, err := b.ask(words...)
	if err != nil {
		b.t.Fatalf("BIRD: %v\n%s", err, out)
	}
	return out
}

func (b *birdPE) reconfigure() {
	b.t.Helper()
	b.configure()
	if b.process != nil {
		if said := b.tell("configure"); !strings.Contains(said, "Reconfigur") {
			b.t.Fatalf("BIRD refuses its configuration:\n%s", said)
		}
	}
}

func (b *birdPE) announce(routes ...route) {
	b.t.Helper()
	b.routes = append(b.routes, routes...)
	b.reconfigure()
}

func (b *birdPE) withdraw(r route) {
	b.t.Helper()
	b.routes = slices.DeleteFunc(b.routes, func(have route) bool { return have == r })
	b.reconfigure()
}

func (b *birdPE) kill()    { b.process.kill(); b.process = nil }
func (b *birdPE) restart() { b.t.Helper(); b.again = true; b.launch() }

func (b *birdPE) daemon() *process { return b.process }

func (b *birdPE) refresh(f wire.Family) { b.t.Helper(); b.tell("reload", "in", "server") }

var (
	birdFilter = regexp.MustCompile(`^flow\d \{ dst (\S+); \}`)
	birdTarget = regexp.MustCompile(`\(rt, (\d+), (\d+)\)`)
	birdCount  = regexp.MustCompile(`(?m)^ *Import updates: +(\d+)`)
)

func (b *birdPE) learned(f wire.Family) table {
	b.t.Helper()
	routes := table{}
	var name string
	for _, line := range strings.Split(b.tell("show", "route", "all", "table", "t_"+birdTables[f], "protocol", "server"), "\n") {
		switch words := strings.Fields(line); {
		case strings.Contains(line, "[server "):
			if filter := birdFilter.FindStringSubmatch(line); filter != nil {
				name = "to " + filter[1]
			} else {
				name = words[0] + " " + words[1]
			}
			routes[name] = ""
		case len(words) > 1 && words[0] == "BGP.ext_community:":
			var rts []string
			for _, rt := range birdTarget.FindAllStringSubmatch(line, -1) {
				rts = append(rts, rt[1]+":"+rt[2])
			}
			routes[name] = strings.Join(rts, " ")
		}
	}
	return routes
}

func (b *birdPE) received() (n int) {
	b.t.Helper()
	for _, count := range birdCount.FindAllStringSubmatch(b.tell("show", "protocols", "all", "server"), -1) {
		i, _ := strconv.Atoi(count[1])
		n += i
	}
	return n
}
