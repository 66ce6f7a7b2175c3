package session_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/lookingglass"
	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/session"
	"weft/routeserver/internal/wire"
)

// soft returns the capabilities of a PE that restarts gracefully for l2vpn-vpls, also after a NOTIFICATION.
func soft(seconds uint16, families ...bgp.Family) []bgp.ParameterCapabilityInterface {
	list := []bgp.ParameterCapabilityInterface{
		bgp.NewCapFourOctetASNumber(65000), bgp.NewCapMultiProtocol(bgp.RF_VPLS),
		bgp.NewCapGracefulRestart(false, true, seconds, []*bgp.CapGracefulRestartTuple{bgp.NewCapGracefulRestartTuple(bgp.RF_VPLS, true)}),
	}
	for _, f := range families {
		list = append(list, bgp.NewCapMultiProtocol(f))
	}
	return list
}

// long adds long-lived graceful restart.
func long(list []bgp.ParameterCapabilityInterface, seconds uint32) []bgp.ParameterCapabilityInterface {
	tuples := []*bgp.CapLongLivedGracefulRestartTuple{bgp.NewCapLongLivedGracefulRestartTuple(bgp.RF_VPLS, true, seconds)}
	return append(list, bgp.NewCapLongLivedGracefulRestart(tuples))
}

func (r *region) with(t *testing.T, host string, capabilities []bgp.ParameterCapabilityInterface) *petest.PE {
	t.Helper()
	return petest.Dial(t, petest.Options{Local: "127.0.78." + host, Remote: r.remote, Families: []bgp.Family{bgp.RF_VPLS}, Capabilities: capabilities})
}

// mark returns the communities of the last UPDATE to a PE.
func mark(p *petest.PE) []uint32 {
	updates := p.Updates()
	for _, a := range updates[len(updates)-1].PathAttributes {
		if c, ok := a.(*bgp.PathAttributeCommunities); ok {
			return c.Value
		}
	}
	return nil
}

func TestRoutesOutlastANotificationUnlessItIsAHardReset(t *testing.T) {
	r := keeping(t)
	b := r.dial(t, "12")
	a := r.with(t, "11", soft(60))
	if flags(t, a)&4 == 0 {
		t.Fatal("the N bit is not set")
	}
	n, m := vplsRoute(t, 1)
	a.Send(m)
	b.Has(map[string]string{n.String(): "65000:2"})
	a.Send(bgp.NewBGPNotificationMessage(bgp.BGP_ERROR_CEASE, bgp.BGP_ERROR_SUB_ADMINISTRATIVE_RESET, nil))
	b.Until("a stale route", func() bool { return r.stale("a") == 1 })
	b.Has(map[string]string{n.String(): "65000:2"})
	a = r.with(t, "11", soft(60))
	a.Send(bgp.NewBGPNotificationMessage(bgp.BGP_ERROR_CEASE, bgp.BGP_ERROR_SUB_HARD_RESET, []byte{6, 4}))
	b.Has(map[string]string{})
}

func TestRoutesOutlastTheHoldTimer(t *testing.T) {
	r := keeping(t)
	b := r.dial(t, "12")
	a := petest.Dial(t, petest.Options{Local: "127.0.78.11", Remote: r.remote, HoldTime: 3, Families: []bgp.Family{bgp.RF_VPLS}, Capabilities: soft(60)})
	n, m := vplsRoute(t, 1)
	a.Send(m)
	b.Has(map[string]string{n.String(): "65000:2"})
	if last := a.Closed(); last == nil || last.ErrorCode != bgp.BGP_ERROR_HOLD_TIMER_EXPIRED {
		t.Errorf("ended with %+v", last)
	}
	b.Until("a stale route", func() bool { return r.stale("a") == 1 })
	b.Has(map[string]string{n.String(): "65000:2"})
}

// TestAnotherFamilyLosesNoRoutes checks that both sides keep all routes when a session ends so that a family can be negotiated.
func TestAnotherFamilyLosesNoRoutes(t *testing.T) {
	r := keeping(t)
	b := r.dial(t, "12")
	a := r.with(t, "11", soft(60, bgp.RF_IPv4_VPN))
	n, m := vplsRoute(t, 1)
	a.Send(m)
	b.Has(map[string]string{n.String(): "65000:2"})
	before := len(b.Updates())
	r.change(t, ruleset.Operation{Op: ruleset.SetEndpoint, Endpoint: &ruleset.Endpoint{Name: "vrf-a", Peer: "a", Family: "vpnv4", RT: "65000:32", RD: "65000:32"}})
	if last := a.Closed(); last == nil || last.ErrorCode != 6 || last.ErrorSubcode != 6 {
		t.Fatalf("ended with %+v", last)
	}
	b.Until("a stale route", func() bool { return r.stale("a") == 1 })
	a = r.with(t, "11", soft(60, bgp.RF_IPv4_VPN))
	if !slices.Contains(offered(a), bgp.RF_IPv4_VPN) {
		t.Errorf("offered %v", offered(a))
	}
	a.Send(m)
	a.Send(endOfRIB(t))
	b.Until("nothing stale", func() bool { return r.stale("a") == 0 })
	if after := len(b.Updates()); after != before {
		t.Errorf("b was sent %d messages though nothing changed for it", after-before)
	}
}

func TestWhatIsFinalIsAHardReset(t *testing.T) {
	r := keeping(t)
	a, c := r.with(t, "11", soft(60)), r.with(t, "13", soft(60))
	r.change(t, ruleset.Operation{Op: ruleset.RemoveEndpoint, Name: "lan-c"}, ruleset.Operation{Op: ruleset.RemovePeer, Name: "c"})
	if last := c.Closed(); last == nil || last.ErrorCode != 6 || last.ErrorSubcode != 9 || string(last.Data) != "\x06\x03" {
		t.Errorf("a removed peer is told %+v", last)
	}
	r.stop()
	if last := a.Closed(); last == nil || last.ErrorCode != 6 || last.ErrorSubcode != 9 || string(last.Data[:2]) != "\x06\x02" || int(last.Data[2]) != len(last.Data)-3 {
		t.Errorf("at the end it is told %+v", last)
	}
}

func TestLongLivedStaleRoutes(t *testing.T) {
	r := keeping(t)
	for f := range wire.RTC {
		r.LongLived[f] = time.Minute
	}
	r.change(t, ruleset.Operation{Op: ruleset.Join, Pool: "pool", Member: "lan-c"})
	b, c := r.with(t, "12", long(soft(60), 0)), r.dial(t, "13")
	a := r.with(t, "11", long(soft(1), 3600))
	times := false
	for _, parameter := range a.Remote.OptParams {
		for _, capability := range parameter.(*bgp.OptionParameterCapability).Capability {
			if l, ok := capability.(*bgp.CapLongLivedGracefulRestart); ok {
				times = slices.ContainsFunc(l.Tuples, func(x *bgp.CapLongLivedGracefulRestartTuple) bool {
					return x.AFI == 25 && x.SAFI == 65 && x.Flags == 0x80 && x.RestartTime == 60
				})
			}
		}
	}
	if !times {
		t.Error("the route server's OPEN does not say for how long its VPLS routes may be kept")
	}
	n, m := vplsRoute(t, 1)
	gone := petest.VPLS(t, "65000:1", 2, 1, 64, 4097)
	a.Send(m)
	a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{gone}, []string{"65000:1"}, bgp.NewPathAttributeCommunities([]uint32{uint32(bgp.COMMUNITY_NO_LLGR)})))
	b.Has(map[string]string{n.String(): "65000:2", gone.String(): "65000:2"})
	c.Has(map[string]string{n.String(): "65000:3", gone.String(): "65000:3"})
	a.Conn.Close()
	b.Until("long-lived routes", func() bool { return r.longLived("a") == 1 })
	c.Has(map[string]string{}) // c does not support long-lived routes
	b.Has(map[string]string{n.String(): "65000:2"})
	b.Until("LLGR_STALE", func() bool {
		return slices.ContainsFunc(b.Locked(), func(u *bgp.BGPUpdate) bool {
			return slices.ContainsFunc(u.PathAttributes, func(x bgp.PathAttributeInterface) bool {
				communities, ok := x.(*bgp.PathAttributeCommunities)
				return ok && slices.Equal(communities.Value, []uint32{uint32(bgp.COMMUNITY_LLGR_STALE)})
			})
		})
	})
	for to, want := range map[string][2]string{"lan-b": {"sent", "sent to b"}, "lan-c": {"not-sent", "it is long-lived stale, and c does not speak"}} {
		x, err := lookingglass.Explain(r.Engine, "lan-a", to, "")
		if err != nil || x.Verdict != want[0] || !strings.Contains(x.Text, want[1]) || !strings.Contains(x.Routes[0].Steps[0].Text, "long-lived stale, kept until") {
			t.Errorf("%s: %+v, %v", to, x, err)
		}
	}
	if events, _ := r.Events.After(0); !slices.ContainsFunc(events, func(e engine.Event) bool {
		return e.Kind == "long-lived-stale" && strings.Contains(e.Text, "(1) are kept") && strings.Contains(e.Text, "(1) are withdrawn (NO_LLGR)")
	}) {
		t.Errorf("the events are %+v", events)
	}
	// Isolation has priority: a member that leaves the pool loses them.
	r.change(t, ruleset.Operation{Op: ruleset.Leave, Pool: "pool", Member: "lan-b"})
	b.Has(map[string]string{})
	r.change(t, ruleset.Operation{Op: ruleset.Join, Pool: "pool", Member: "lan-b"})
	b.Has(map[string]string{n.String(): "65000:2"})

	a = r.with(t, "11", long(soft(1), 3600)) // its F bit is set: the routes stay until its End-of-RIB
	b.Has(map[string]string{n.String(): "65000:2"})
	a.Send(m)
	c.Has(map[string]string{n.String(): "65000:3"})
	b.Until("a fresh route", func() bool { return r.longLived("a") == 0 })
	if communities := mark(b); len(communities) > 0 {
		t.Errorf("the fresh route has communities %x", communities)
	}
	a.Conn.Close()
	b.Until("long-lived routes", func() bool { return r.longLived("a") == 1 })
	r.with(t, "11", soft(1)) // no longer has the capability
	b.Has(map[string]string{})
}

func (r *region) longLived(peer string) int {
	for _, v := range r.PeerViews() {
		if v.Name == peer {
			return v.Stale.LongLived
		}
	}
	return 0
}

// TestLongLivedIsOffByDefault checks the default (RFC 9494 section 5).
func TestLongLivedIsOffByDefault(t *testing.T) {
	r := start(t, session.Config{RestartTime: time.Minute})
	b := r.with(t, "12", long(soft(60), 0))
	a := r.with(t, "11", long(soft(1), 3600))
	n, m := vplsRoute(t, 1)
	a.Send(m)
	b.Has(map[string]string{n.String(): "65000:2"})
	a.Conn.Close()
	b.Has(map[string]string{})
}
