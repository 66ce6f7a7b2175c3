package session_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/session"
)

// Attacks of an enrolled PE: a, which shares a pool with b, announces routes that are not its own. Each attack succeeds
// without the defence and fails with it.

const (
	othersGateway = "02:57:00:00:00:02"
	ownMachine    = "02:00:00:00:00:07"
	othersMachine = "02:00:00:00:00:08"
	kept          = "10.2.0.9" // address of b's LAN that a's machine has kept
)

var mainFamily = map[string]bgp.Family{"l2vpn-vpls": bgp.RF_VPLS, "l2vpn-evpn": bgp.RF_EVPN, "vpnv4": bgp.RF_IPv4_VPN}

// besieged returns a region of a family in which a and b have permits if guarded.
func besieged(t *testing.T, family string, guarded bool) (*region, *petest.PE, *petest.PE) {
	t.Helper()
	r := start(t, session.Config{})
	for i, name := range []string{"a", "b"} {
		rt := fmt.Sprintf("65000:%d", i+1)
		e := ruleset.Endpoint{Name: "lan-" + name, Peer: name, Family: family, RT: rt, RD: rt}
		if guarded {
			e.Permits = ruleset.Permits{
				NextHops: ruleset.NewWords(petest.Hop), Prefixes: ruleset.NewWords(fmt.Sprintf("10.%d.0.0/24", i+1)),
				VE: uint16(i + 1), Labels: [2]uint32{4096, 8192},
				MACs: ruleset.NewWords([][]string{{"02:57:00:00:00:01", ownMachine}, {othersGateway, othersMachine}}[i]...),
			}
			if name == "a" {
				e.Permits.Hosts = ruleset.NewWords(kept)
			}
		}
		r.change(t, ruleset.Operation{Op: ruleset.SetEndpoint, Endpoint: &e})
	}
	families := []bgp.Family{mainFamily[family], bgp.RF_FS_IPv4_UC}
	dial := func(host string) *petest.PE {
		return petest.Dial(t, petest.Options{Local: "127.0.78." + host, Remote: r.remote, Families: families})
	}
	return r, dial("11"), dial("12")
}

func distinguisher(t *testing.T, rd string) bgp.RouteDistinguisherInterface {
	t.Helper()
	d, err := bgp.ParseRouteDistinguisher(rd)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func vpn(t *testing.T, rd, prefix string) bgp.NLRI {
	t.Helper()
	n, err := bgp.NewLabeledVPNIPAddrPrefix(netip.MustParsePrefix(prefix), *bgp.NewMPLSLabelStack(7), distinguisher(t, rd))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func multicast(t *testing.T, rd, originator string) bgp.NLRI {
	t.Helper()
	n, err := bgp.NewEVPNMulticastEthernetTagRoute(distinguisher(t, rd), 0, netip.MustParseAddr(originator))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func filter(t *testing.T) bgp.NLRI {
	t.Helper()
	to, err := bgp.NewIPAddrPrefix(netip.MustParsePrefix("10.2.0.0/24"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := bgp.NewFlowSpecUnicast(bgp.RF_FS_IPv4_UC, []bgp.FlowSpecComponentInterface{bgp.NewFlowSpecDestinationPrefix(to)})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAnEnrolledPEAnnouncesWhatIsNotItsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		family string
		of     bgp.Family
		nlri   bgp.NLRI
		hop    string
		reason rib.Reason
	}{
		"another's route distinguisher": {"l2vpn-vpls", bgp.RF_VPLS, petest.VPLS(t, "65000:3", 1, 1, 64, 4097), petest.Hop, rib.ForeignRD},
		"another's VE ID":               {"l2vpn-vpls", bgp.RF_VPLS, petest.VPLS(t, "65000:1", 2, 1, 64, 4097), petest.Hop, rib.ForeignVE},
		"labels of another LAN":         {"l2vpn-vpls", bgp.RF_VPLS, petest.VPLS(t, "65000:1", 1, 65, 64, 8192+65), petest.Hop, rib.Labels},
		"another's next hop":            {"l2vpn-vpls", bgp.RF_VPLS, petest.VPLS(t, "65000:1", 1, 65, 64, 4096+65), "192.0.2.1", rib.NextHop},
		"a filter of another's traffic": {"l2vpn-vpls", bgp.RF_FS_IPv4_UC, filter(t), petest.Hop, rib.Flowspec},
		"another's gateway":             {"l2vpn-evpn", bgp.RF_EVPN, petest.MAC(t, "65000:1", othersGateway, "", 7), petest.Hop, rib.ForeignMAC},
		"another's machine":             {"l2vpn-evpn", bgp.RF_EVPN, petest.MAC(t, "65000:1", othersMachine, "", 7), petest.Hop, rib.ForeignMAC},
		"another's machine, here":       {"l2vpn-evpn", bgp.RF_EVPN, petest.MAC(t, "65000:1", othersMachine, "10.1.0.8", 7), petest.Hop, rib.ForeignMAC},
		"another's address":             {"l2vpn-evpn", bgp.RF_EVPN, petest.MAC(t, "65000:1", ownMachine, "10.2.0.7", 7), petest.Hop, rib.ForeignAddress},
		"another's originator":          {"l2vpn-evpn", bgp.RF_EVPN, multicast(t, "65000:1", "192.0.2.1"), petest.Hop, rib.Originator},
		"another's prefix":              {"vpnv4", bgp.RF_IPv4_VPN, vpn(t, "65000:1", "10.2.0.0/24"), petest.Hop, rib.ForeignPrefix},
		"the way to everywhere":         {"vpnv4", bgp.RF_IPv4_VPN, vpn(t, "65000:1", "0.0.0.0/0"), petest.Hop, rib.ForeignPrefix},
	} {
		honest := map[string]bgp.NLRI{
			"l2vpn-vpls": petest.VPLS(t, "65000:1", 1, 1, 64, 4097), "l2vpn-evpn": petest.MAC(t, "65000:1", ownMachine, "10.1.0.7", 7), "vpnv4": vpn(t, "65000:1", "10.1.0.0/24"),
		}[c.family]
		of := mainFamily[c.family]
		for _, guarded := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, guarded %v", name, guarded), func(t *testing.T) {
				r, a, b := besieged(t, c.family, guarded)
				a.Send(petest.Announcement(t, of, []bgp.NLRI{honest}, []string{"65000:1"}))
				want := map[string]string{honest.String(): "65000:2"}
				b.Has(want)
				a.Send(petest.AnnouncementVia(t, c.hop, c.of, []bgp.NLRI{c.nlri}, []string{"65000:1"}))
				if !guarded {
					want[c.nlri.String()] = "65000:2"
					b.Has(want)
					return
				}
				r.until(t, "the quarantine", func() bool {
					views, _ := r.Select(engine.Filter{Table: engine.Quarantine, Peer: "a", AnyFamily: true, AnyRT: true, Reason: c.reason})
					return len(views) == 1
				})
				b.Has(want) // its own announcements still reach b
				events, _ := r.Events.After(0)
				told := 0
				for _, e := range events {
					if e.Kind == "quarantined" && e.Peer == "a" {
						told++
					}
				}
				if told != 1 {
					t.Errorf("%d events tell of it", told)
				}
				a.Send(petest.Withdrawal(t, c.of, []bgp.NLRI{c.nlri}))
				r.until(t, "the end of the quarantine", func() bool {
					views, _ := r.Select(engine.Filter{Table: engine.Quarantine, Peer: "a", AnyFamily: true, AnyRT: true})
					return len(views) == 0
				})
			})
		}
	}
}

// TestAMachineOnItsWay checks that both b and a may announce a machine while it moves from b to a, also by the address
// that it keeps; then a alone. Before that, and for another address, the announcements of a's PE are refused.
func TestAMachineOnItsWay(t *testing.T) {
	r, a, b := besieged(t, "l2vpn-evpn", true)
	family, of := bgp.RF_EVPN, func(rd, ip string) bgp.NLRI { return petest.MAC(t, rd, othersMachine, ip, 7) }
	permit := func(site string, macs ...string) {
		e := r.Set().Site(site).Endpoint
		e.Permits.MACs = ruleset.NewWords(macs...)
		r.change(t, ruleset.Operation{Op: ruleset.SetEndpoint, Endpoint: &e})
	}
	quarantined := func(peer string, n int) {
		t.Helper()
		r.until(t, fmt.Sprintf("%d of %s in quarantine", n, peer), func() bool {
			views, _ := r.Select(engine.Filter{Table: engine.Quarantine, Peer: peer, AnyFamily: true, AnyRT: true})
			return len(views) == n
		})
	}
	there, here, stray := of("65000:2", kept), of("65000:1", kept), of("65000:1", "10.2.0.10")
	toA, toB := map[string]string{there.String(): "65000:1"}, map[string]string{here.String(): "65000:2"}
	b.Send(petest.Announcement(t, family, []bgp.NLRI{there}, []string{"65000:2"}))
	a.Has(toA)
	a.Send(petest.Announcement(t, family, []bgp.NLRI{here, stray}, []string{"65000:1"}))
	quarantined("a", 2)
	b.Has(map[string]string{})
	permit("lan-a", "02:57:00:00:00:01", othersMachine) // the move has begun
	b.Has(toB)
	a.Has(toA)
	quarantined("a", 1)
	permit("lan-b", othersGateway) // the move has ended
	a.Has(map[string]string{})
	b.Has(toB)
	quarantined("b", 1)
}

// TestTooManyMACs checks that a PE that announces more MACs than permitted has no routes at other PEs; other PEs are
// not affected.
func TestTooManyMACs(t *testing.T) {
	r, a, b := besieged(t, "l2vpn-evpn", true)
	site := r.Set().Site("lan-a").Endpoint
	site.Permits.MaxMACs = 3
	r.change(t, ruleset.Operation{Op: ruleset.SetEndpoint, Endpoint: &site})
	own := petest.MAC(t, "65000:2", "02:00:00:00:02:01", "", 7)
	b.Send(petest.Announcement(t, bgp.RF_EVPN, []bgp.NLRI{own}, []string{"65000:2"}))
	toA := map[string]string{own.String(): "65000:1"}
	a.Has(toA)
	var all []bgp.NLRI
	want := map[string]string{}
	for i := range 3 {
		for _, ip := range []string{"", fmt.Sprintf("10.1.0.%d", i+1)} { // several routes of one MAC count once
			all = append(all, petest.MAC(t, "65000:1", fmt.Sprintf("02:00:00:00:01:%02x", i), ip, 7))
			want[all[len(all)-1].String()] = "65000:2"
		}
	}
	a.Send(petest.Announcement(t, bgp.RF_EVPN, all, []string{"65000:1"}))
	b.Has(want)
	flood := petest.MAC(t, "65000:1", "02:00:00:00:01:99", "", 7)
	a.Send(petest.Announcement(t, bgp.RF_EVPN, []bgp.NLRI{flood}, []string{"65000:1"}))
	b.Has(map[string]string{})
	a.Has(toA)
	a.Send(petest.Withdrawal(t, bgp.RF_EVPN, []bgp.NLRI{flood}))
	b.Has(want)
}
