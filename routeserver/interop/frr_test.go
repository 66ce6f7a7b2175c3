package interop

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"weft/routeserver/internal/wire"
)

// frr is FRR's bgpd with a zebra, because bgpd 10 without one refuses every OPEN with an IPv6 family. `network … rd …
// label` makes routes that need no VRF. Notes: a route map must precede its use, or the routes go out without it; type
// 5 routes ignore theirs, so that an outbound one sets their route target; the next hop of VPNv6 and of type 5 is an
// IPv4-mapped IPv6 address; it refuses next hops in 127.0.0.0/8; bgpd drops root privileges, so its directory must be
// open to it, and it leaves directories in /var/tmp; 8.4 has no graceful restart for EVPN. Types 2 and 3 come from
// zebra's VNIs: see pool_test.go.
var frr = &speaker{
	name:      "FRR",
	programs:  []string{frrPrograms + "bgpd", frrPrograms + "zebra"},
	announces: []wire.Family{wire.EVPN, wire.VPNv4, wire.VPNv6},
	learns:    []wire.Family{wire.EVPN, wire.VPNv4, wire.VPNv6, wire.Flow4, wire.Flow6},
	evpn:      []int{5},
	lacks: map[wire.Family]string{
		wire.VPLS:     "FRR's bgpd has no VPLS",
		wire.FlowVPN4: "FRR has filters without an RD only, and takes them without announcing any",
		wire.FlowVPN6: "FRR has filters without an RD only, and takes them without announcing any",
	},
	graceful: []wire.Family{wire.EVPN, wire.VPNv4, wire.VPNv6},
	helps:    []wire.Family{wire.VPNv4, wire.VPNv6},
	release:  frrRelease,
	start:    func(t *testing.T, at seat) pe { f := &frrPE{t: t, seat: at}; f.launch(); return f },
}

const frrPrograms = "/usr/lib/frr/"

var frrRelease = sync.OnceValue(func() string {
	said, _ := exec.Command(frrPrograms+"bgpd", "--version").Output() // "bgpd version 10.3"
	_, version, _ := strings.Cut(string(said), "version ")
	major, _, _ := strings.Cut(version, ".")
	return major
})

type frrPE struct {
	seat
	t       *testing.T
	process *process
	zebra   *process
	routes  []route
}

// frrFamilies are the family names in the configuration and in show commands.
var frrFamilies = map[wire.Family]string{
	wire.EVPN: "l2vpn evpn", wire.VPNv4: "ipv4 vpn", wire.VPNv6: "ipv6 vpn", wire.Flow4: "ipv4 flowspec", wire.Flow6: "ipv6 flowspec",
}

// network returns the command for a route.
func (f *frrPE) network(r route) string {
	if r.family == wire.EVPN {
		return fmt.Sprintf("network %s rd %s ethtag 0 label %d esi 00:00:00:00:00:00:00:00:00:00 gwip 0.0.0.0 routermac %s",
			r.prefix4(), r.rt(), r.label(), r.mac())
	}
	return fmt.Sprintf("network %s rd %s label %d route-map site%d", r.prefix(), r.rt(), r.label(), r.site)
}

func (f *frrPE) configuration() []string {
	var maps, lines []string
	for _, family := range f.families {
		if family.Main() {
			own := []string{" set extcommunity rt " + target(f.site(family)), "exit"}
			out := fmt.Sprintf("route-map out%d permit 10", f.site(family)) // which withdraw narrows
			if family == wire.EVPN {
				maps = append(append(maps, out), own...)
				continue
			}
			maps = append(maps, out, "exit", fmt.Sprintf("route-map site%d permit 10", f.site(family)))
			if family == wire.VPNv4 {
				maps = append(maps, " set ipv4 vpn next-hop "+f.id())
			} else {
				maps = append(maps, " set ipv6 vpn next-hop "+f.hop6())
			}
			maps = append(maps, own...)
		}
	}
	neighbor := " neighbor " + f.server() + " "
	lines = append(maps, fmt.Sprint("router bgp ", f.asn), " bgp router-id "+f.id(), " no bgp default ipv4-unicast", " no bgp network import-check")
	if f.restarts {
		lines = append(lines, " bgp graceful-restart", " bgp graceful-restart preserve-fw-state",
			" bgp graceful-restart select-defer-time 0", // or FRR 10.3 never selects the VPN routes that come after its restart
			fmt.Sprintf(" bgp graceful-restart restart-time %d", restartTime))
	}
	lines = append(lines, neighbor+"remote-as 65000", neighbor+"update-source "+f.own(), neighbor+"timers connect 1",
		fmt.Sprintf("%stimers %d %d", neighbor, f.hold/3, f.hold))
	if f.asn != 65000 {
		lines = append(lines, " no bgp ebgp-requires-policy", neighbor+"enforce-first-as", neighbor+"disable-connected-check")
		if !f.near { // GTSM does without it
			lines = append(lines, neighbor+"ebgp-multihop")
		}
	}
	if f.password != "" {
		lines = append(lines, neighbor+"password "+f.password)
	}
	if f.near {
		lines = append(lines, neighbor+"ttl-security hops 1")
	}
	if f.passive {
		lines = append(lines, neighbor+"passive")
	}
	for _, family := range f.families {
		lines = append(lines, " address-family "+frrFamilies[family], " "+neighbor+"activate")
		if family == wire.VPNv6 && f.asn != 65000 { // or the next hop is its own IPv4 address again
			lines = append(lines, " "+neighbor+"attribute-unchanged next-hop")
		}
		if family.Main() {
			lines = append(lines, fmt.Sprintf(" %sroute-map out%d out", neighbor, f.site(family)))
		}
		for _, r := range f.routes {
			if r.family == family {
				lines = append(lines, "  "+f.network(r))
			}
		}
		lines = append(lines, " exit-address-family")
	}
	return append(lines, "exit")
}

func (f *frrPE) launch() {
	f.t.Helper()
	config := filepath.Join(f.dir, "bgpd.conf")
	if err := os.WriteFile(config, []byte(strings.Join(f.configuration(), "\n")+"\n"), 0o644); err != nil {
		f.t.Fatal(err)
	}
	f.run(config)
}

// run starts bgpd, and zebra before the first one. All PEs share one network namespace. A bgpd that learns all their
// addresses drops EVPN routes via these as its own, so its zebra is in a namespace with the addresses of this PE alone.
func (f *frrPE) run(config string) {
	f.t.Helper()
	api := filepath.Join(f.dir, "zserv.api")
	if f.zebra == nil {
		alone := namespace(f.t, "z")
		must(f.t, "ip -n "+alone+" addr add "+f.id()+"/24 dev lo")
		must(f.t, "ip -n "+alone+" addr add "+f.hop6()+"/64 dev lo nodad")
		f.zebra = startFRR(f.t, alone, f.dir, "zebra", "-f", "/dev/null", "-z", api)
	}
	f.process = startFRR(f.t, f.ns, f.dir, "bgpd", "-z", api, "-f", config, "-l", f.own(), "--log", "stdout", "--log-level", "informational")
}

func (f *frrPE) tell(lines ...string) string {
	f.t.Helper()
	reply, err := vty(f.dir, "bgpd", lines...)
	if err != nil {
		f.t.Fatal(err)
	}
	return reply
}

func (f *frrPE) announce(routes ...route) {
	f.t.Helper()
	f.routes = append(f.routes, routes...)
	for _, r := range routes {
		if f.process != nil {
			f.tell("configure terminal", fmt.Sprint("router bgp ", f.asn), "address-family "+frrFamilies[r.family], f.network(r), "end")
		}
	}
}

// withdraw withdraws a route by policy: FRR 10.3 does not find such a route when told to remove it.
func (f *frrPE) withdraw(r route) {
	f.t.Helper()
	f.routes = slices.DeleteFunc(f.routes, func(have route) bool { return have == r })
	if f.process == nil {
		return
	}
	lines := []string{"configure terminal", fmt.Sprintf("route-map out%d deny 5", r.site)}
	switch r.family {
	case wire.EVPN: // of which it has one; FRR 8.4 does not match its prefix
		lines = append(lines, "match evpn route-type prefix")
	case wire.VPNv6:
		lines = append(lines, "match ipv6 address prefix-list gone", "exit", "ipv6 prefix-list gone permit "+r.prefix6())
	default:
		lines = append(lines, "match ip address prefix-list gone", "exit", "ip prefix-list gone permit "+r.prefix4())
	}
	f.tell(append(lines, "end")...)
	f.tell("clear bgp " + frrFamilies[r.family] + " " + f.server() + " soft out")
}

func (f *frrPE) kill() { f.process.kill(); f.process = nil }

func (f *frrPE) restart() { f.t.Helper(); f.launch() }

func (f *frrPE) daemon() *process { return f.process }

func (f *frrPE) refresh(family wire.Family) {
	f.t.Helper()
	f.tell("clear bgp " + frrFamilies[family] + " " + f.server() + " soft in")
}

type frrStatistics struct{ UpdatesRecv, RouteRefreshRecv int }

func (f *frrPE) statistics() frrStatistics {
	f.t.Helper()
	var neighbors map[string]struct{ MessageStats frrStatistics }
	if err := json.Unmarshal([]byte(f.tell("show bgp neighbors json")), &neighbors); err != nil {
		f.t.Fatal(err)
	}
	return neighbors[f.server()].MessageStats
}

func (f *frrPE) received() int { return f.statistics().UpdatesRecv }
