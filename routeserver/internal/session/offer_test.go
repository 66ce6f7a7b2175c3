package session_test

import (
	"slices"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/session"
)

// offered lists the families in the route server's OPEN.
func offered(p *petest.PE) []bgp.Family {
	var families []bgp.Family
	for _, o := range p.Remote.OptParams {
		for _, c := range o.(*bgp.OptionParameterCapability).Capability {
			if m, ok := c.(*bgp.CapMultiProtocol); ok {
				families = append(families, m.CapValue)
			}
		}
	}
	return families
}

func TestAFamilyIsOfferedWhereItIsUseful(t *testing.T) {
	r := start(t, session.Config{})
	options := petest.Options{Local: "127.0.78.11", Remote: r.remote, Families: []bgp.Family{bgp.RF_VPLS, bgp.RF_IPv4_VPN}}
	a := petest.Connect(t, options)
	a.Handshake()
	a.Run()
	a.Until("the End-of-RIB marker", func() bool { return len(a.Locked()) == 1 })
	for f, want := range map[bgp.Family]bool{bgp.RF_VPLS: true, bgp.RF_EVPN: true, bgp.RF_RTC_UC: true, bgp.RF_FS_IPv4_VPN: true, bgp.RF_IPv4_VPN: false, bgp.RF_IPv6_VPN: false} {
		if slices.Contains(offered(a), f) != want {
			t.Errorf("%s: offered %v", f, offered(a))
		}
	}
	change := func(base uint64, e ruleset.Endpoint) {
		t.Helper()
		ops := []ruleset.Operation{{Op: ruleset.SetEndpoint, Endpoint: &e}}
		if _, err := r.Change(&ruleset.Change{Base: base, Generation: base + 1, Ops: ops}); err != nil {
			t.Fatal(err)
		}
	}
	// Neither another PE's family matters, nor one that this PE does not want.
	change(1, ruleset.Endpoint{Name: "vrf-c", Peer: "c", Family: "vpnv4", RT: "65000:30", RD: "65000:30"})
	change(2, ruleset.Endpoint{Name: "vrf6-a", Peer: "a", Family: "vpnv6", RT: "65000:31", RD: "65000:31"})
	change(3, ruleset.Endpoint{Name: "vrf-a", Peer: "a", Family: "vpnv4", RT: "65000:32", RD: "65000:32"})
	if n := a.Closed(); n == nil || n.ErrorCode != 6 || n.ErrorSubcode != 6 {
		t.Fatalf("ended with %+v", n)
	}
	a = petest.Dial(t, options)
	if !slices.Contains(offered(a), bgp.RF_IPv4_VPN) {
		t.Errorf("offered %v", offered(a))
	}
}

func TestRouteTargetConstraint(t *testing.T) {
	r := start(t, session.Config{})
	b := petest.Dial(t, petest.Options{Local: "127.0.78.12", Remote: r.remote, Families: []bgp.Family{bgp.RF_VPLS}})
	nlri := petest.VPLS(t, "65000:2", 2, 1, 64, 8193)
	b.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{nlri}, []string{"65000:2"}))

	options := petest.Options{Local: "127.0.78.11", Remote: r.remote, Families: []bgp.Family{bgp.RF_VPLS, bgp.RF_RTC_UC}}
	a := petest.Connect(t, options)
	a.Handshake()
	a.Run()
	everything, err := bgp.NLRIFromSlice(bgp.RF_RTC_UC, []byte{0})
	if err != nil {
		t.Fatal(err)
	}
	all := everything.String()
	a.Has(map[string]string{all: ""}) // the route server asks for all routes, and sends none yet
	rt, err := bgp.ParseRouteTarget("65000:1")
	if err != nil {
		t.Fatal(err)
	}
	wish := []bgp.NLRI{bgp.NewRouteTargetMembershipNLRI(65000, rt)}
	a.Send(petest.Announcement(t, bgp.RF_RTC_UC, wish, nil))
	a.Send(bgp.NewEndOfRib(bgp.RF_RTC_UC))
	a.Has(map[string]string{all: "", nlri.String(): "65000:1"})
	a.Send(petest.Withdrawal(t, bgp.RF_RTC_UC, wish))
	a.Has(map[string]string{all: ""})
	a.Send(petest.Announcement(t, bgp.RF_RTC_UC, []bgp.NLRI{everything}, nil))
	a.Has(map[string]string{all: "", nlri.String(): "65000:1"})
}

// TestRouteTargetConstraintWithoutEndOfRIB checks that a PE that negotiated RT-Constrain and asks for nothing gets
// nothing; if it sends no End-of-RIB, this is decided after a while.
func TestRouteTargetConstraintWithoutEndOfRIB(t *testing.T) {
	r := start(t, session.Config{})
	r.MembershipWait = 50 * time.Millisecond
	options := petest.Options{Local: "127.0.78.11", Remote: r.remote, Families: []bgp.Family{bgp.RF_VPLS, bgp.RF_RTC_UC}}
	a := petest.Dial(t, options) // waits for both End-of-RIB markers
	b := petest.Dial(t, petest.Options{Local: "127.0.78.12", Remote: r.remote, Families: []bgp.Family{bgp.RF_VPLS}})
	nlri := petest.VPLS(t, "65000:2", 2, 1, 64, 8193)
	b.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{nlri}, []string{"65000:2"}))
	a.Until("the route to be taken in", func() bool { return r.Counters().Announced == 1 })
	if views, _ := r.Select(engine.Filter{Table: engine.AdjOut, Peer: "a", AnyFamily: true, AnyRT: true}); len(views) > 0 {
		t.Errorf("a PE that asked for nothing was sent %+v", views)
	}
}
