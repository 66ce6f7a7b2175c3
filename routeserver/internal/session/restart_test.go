package session_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/session"
)

// graceful returns the capabilities of a PE that restarts gracefully for l2vpn-vpls.
func graceful(restarting, forwarding bool, seconds uint16) []bgp.ParameterCapabilityInterface {
	return []bgp.ParameterCapabilityInterface{
		bgp.NewCapMultiProtocol(bgp.RF_VPLS), bgp.NewCapFourOctetASNumber(65000), bgp.NewCapRouteRefresh(),
		bgp.NewCapGracefulRestart(restarting, false, seconds,
			[]*bgp.CapGracefulRestartTuple{bgp.NewCapGracefulRestartTuple(bgp.RF_VPLS, forwarding)}),
	}
}

func (r *region) graceful(t *testing.T, host string, restarting, forwarding bool, seconds uint16) *petest.PE {
	t.Helper()
	return petest.Dial(t, petest.Options{
		Local: "127.0.78." + host, Remote: r.remote, Families: []bgp.Family{bgp.RF_VPLS},
		Capabilities: graceful(restarting, forwarding, seconds),
	})
}

func endOfRIB(t *testing.T) *bgp.BGPMessage {
	t.Helper()
	return bgp.NewEndOfRib(bgp.RF_VPLS)
}

// keeping starts a route server that keeps routes of PEs that restart.
func keeping(t *testing.T) *region { return start(t, session.Config{RestartTime: time.Minute}) }

func vplsRoute(t *testing.T, ve uint16) (bgp.NLRI, *bgp.BGPMessage) {
	n := petest.VPLS(t, "65000:1", ve, 1, 64, 4097)
	return n, petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{n}, []string{"65000:1"})
}

func (r *region) stale(peer string) int {
	for _, v := range r.PeerViews() {
		if v.Name == peer {
			return v.Stale.Routes
		}
	}
	return 0
}

func TestRoutesOfAPEThatRestartsAreKeptUntilItsEndOfRIB(t *testing.T) {
	r := keeping(t)
	b := r.dial(t, "12")
	a := r.graceful(t, "11", false, true, 60)
	n1, m1 := vplsRoute(t, 1)
	n2, m2 := vplsRoute(t, 2)
	a.Send(m1)
	a.Send(m2)
	both := map[string]string{n1.String(): "65000:2", n2.String(): "65000:2"}
	b.Has(both)
	before := len(b.Updates())
	a.Conn.Close()
	b.Until("stale routes", func() bool { return r.stale("a") == 2 })
	b.Has(both)

	a = r.graceful(t, "11", true, true, 60)
	a.Send(m1)
	b.Until("one stale route", func() bool { return r.stale("a") == 1 })
	b.Has(both)
	if after := len(b.Updates()); after != before {
		t.Errorf("b was sent %d messages though nothing changed for it", after-before)
	}
	a.Send(endOfRIB(t))
	b.Has(map[string]string{n1.String(): "65000:2"})
}

func TestStaleRoutesGoWhenTheRestartTimeIsOver(t *testing.T) {
	r := keeping(t)
	b := r.dial(t, "12")
	a := r.graceful(t, "11", false, true, 1)
	n, m := vplsRoute(t, 1)
	a.Send(m)
	b.Has(map[string]string{n.String(): "65000:2"})
	a.Conn.Close()
	b.Until("a stale route", func() bool { return r.stale("a") == 1 })
	b.Has(map[string]string{})
	if views, _ := r.Select(engine.Filter{Table: engine.AdjIn, AnyFamily: true, AnyRT: true}); len(views) != 0 {
		t.Errorf("there is still %+v", views)
	}
}

func TestStaleRoutesGoAtOnceIfThePEDidNotForward(t *testing.T) {
	r := keeping(t)
	b := r.dial(t, "12")
	a := r.graceful(t, "11", false, true, 60)
	n, m := vplsRoute(t, 1)
	a.Send(m)
	b.Has(map[string]string{n.String(): "65000:2"})
	a.Conn.Close()
	b.Until("a stale route", func() bool { return r.stale("a") == 1 })
	r.graceful(t, "11", true, false, 60)
	b.Has(map[string]string{})
}

func TestNothingIsKeptAfterANotification(t *testing.T) {
	r := keeping(t)
	b := r.dial(t, "12")
	a := r.graceful(t, "11", false, true, 60)
	n, m := vplsRoute(t, 1)
	a.Send(m)
	b.Has(map[string]string{n.String(): "65000:2"})
	a.Send(bgp.NewBGPNotificationMessage(bgp.BGP_ERROR_CEASE, bgp.BGP_ERROR_SUB_ADMINISTRATIVE_SHUTDOWN, nil))
	b.Has(map[string]string{})
	if r.stale("a") != 0 {
		t.Error("something is stale")
	}
}

func TestIsolationGoesBeforeStaleRoutes(t *testing.T) {
	r := keeping(t)
	b, c := r.dial(t, "12"), r.dial(t, "13")
	a := r.graceful(t, "11", false, true, 60)
	n, m := vplsRoute(t, 1)
	a.Send(m)
	b.Has(map[string]string{n.String(): "65000:2"})
	a.Conn.Close()
	b.Until("a stale route", func() bool { return r.stale("a") == 1 })
	// An endpoint that joins meanwhile gets it; one that leaves loses it at once.
	r.change(t, ruleset.Operation{Op: ruleset.Join, Pool: "pool", Member: "lan-c"})
	c.Has(map[string]string{n.String(): "65000:3"})
	if receipt := r.change(t, ruleset.Operation{Op: ruleset.Leave, Pool: "pool", Member: "lan-b"}); receipt.Withdrawn != 1 {
		t.Errorf("receipt %+v", receipt)
	}
	b.Has(map[string]string{})
	r.change(t, ruleset.Operation{Op: ruleset.RemoveEndpoint, Name: "lan-a"}, ruleset.Operation{Op: ruleset.RemovePeer, Name: "a"})
	c.Has(map[string]string{})
	if views, _ := r.Select(engine.Filter{Table: engine.AdjIn, AnyFamily: true, AnyRT: true}); len(views) != 0 {
		t.Errorf("there is still %+v", views)
	}
}

func TestANewConnectionOfAPEThatRestartsTakesThePlaceOfTheOld(t *testing.T) {
	r := keeping(t)
	b := r.dial(t, "12")
	a := r.graceful(t, "11", false, true, 60)
	n, m := vplsRoute(t, 1)
	a.Send(m)
	b.Has(map[string]string{n.String(): "65000:2"})
	again := r.graceful(t, "11", true, true, 60) // the old connection was never closed
	if last := a.Closed(); last != nil {
		t.Errorf("the old connection ended with %+v", last)
	}
	if r.stale("a") != 1 {
		t.Error("the route is not kept")
	}
	again.Send(m)
	again.Send(endOfRIB(t))
	b.Until("nothing stale", func() bool { return r.stale("a") == 0 })
	b.Has(map[string]string{n.String(): "65000:2"})
}

// restarted returns a route server that finds its rule set on disk: a, b and c, of which a and b share a pool.
func restarted(t *testing.T, deferral time.Duration) *region {
	t.Helper()
	first := start(t, session.Config{})
	dir := t.TempDir()
	store, err := ruleset.OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Save(first.Set()); err != nil {
		t.Fatal(err)
	}
	store.Close()
	if store, err = ruleset.OpenStore(dir); err != nil {
		t.Fatal(err)
	}
	r := &region{ended: make(chan error, 1)}
	id := [4]byte{10, 0, 0, 200}
	r.Engine, err = engine.New(engine.Config{Name: "rs", ASN: 65000, RouterID: id, ClusterID: id, StaleTime: time.Minute},
		store, func(s *ruleset.Set, peers []string) { r.server.Reconcile(s, peers) })
	if err != nil {
		t.Fatal(err)
	}
	listen := freePort(t, "127.0.78.2")
	r.server = session.New(session.Config{Listen: listen, RestartTime: time.Minute, Deferral: deferral}, r.Engine, slog.New(slog.DiscardHandler))
	r.remote = listen.String()
	ctx, cancel := context.WithCancel(context.Background())
	go func() { r.ended <- r.server.Serve(ctx) }()
	for !r.server.Serving() {
		time.Sleep(time.Millisecond)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
		store.Close()
	})
	return r
}

// open opens a session of a PE that restarts gracefully, and does not wait for End-of-RIB.
func (r *region) open(t *testing.T, host string) *petest.PE {
	t.Helper()
	p := petest.Connect(t, petest.Options{Local: "127.0.78." + host, Remote: r.remote, Capabilities: graceful(false, true, 60)})
	p.Handshake()
	p.Run()
	return p
}

func flags(t *testing.T, p *petest.PE) uint8 {
	t.Helper()
	for _, parameter := range p.Remote.OptParams {
		for _, c := range parameter.(*bgp.OptionParameterCapability).Capability {
			if g, ok := c.(*bgp.CapGracefulRestart); ok {
				for _, tuple := range g.Tuples {
					if tuple.Flags != 0x80 {
						t.Errorf("family %d/%d is not said to be forwarded", tuple.AFI, tuple.SAFI)
					}
				}
				return g.Flags
			}
		}
	}
	t.Fatal("graceful restart is not offered")
	return 0
}

func TestEndOfRIBWaitsForThatOfAllPEsAfterARestart(t *testing.T) {
	r := restarted(t, time.Minute)
	a, b := r.open(t, "11"), r.open(t, "12")
	if flags(t, a)&8 == 0 {
		t.Error("the restart is not announced")
	}
	n, m := vplsRoute(t, 1)
	a.Send(m)
	a.Send(endOfRIB(t))
	b.Send(endOfRIB(t))
	b.Has(map[string]string{n.String(): "65000:2"}) // routes do not wait
	if !r.Restarting() || a.Ends() != 0 || b.Ends() != 0 {
		t.Error("the restart is over though c is not back")
	}
	c := r.open(t, "13")
	c.Send(endOfRIB(t))
	for _, p := range []*petest.PE{a, b, c} {
		p.Until("the End-of-RIB marker", func() bool { return p.EndsLocked() == 1 })
	}
	if r.Restarting() {
		t.Error("the restart is not over")
	}
	a.Conn.Close()
	b.Until("the end of a", func() bool { return r.server.States()["a"].State != session.Established })
	if flags(t, r.open(t, "11"))&8 != 0 {
		t.Error("the restart is announced though it is over")
	}
}

func TestEndOfRIBWaitsNotForEver(t *testing.T) {
	r := restarted(t, 300*time.Millisecond)
	a := r.open(t, "11")
	a.Until("the End-of-RIB marker", func() bool { return a.EndsLocked() == 1 })
}

func TestWhoLosesAccessDuringARestartGetsEndOfRIBAtOnce(t *testing.T) {
	r := restarted(t, time.Minute)
	a, b := r.open(t, "11"), r.open(t, "12")
	b.Until("the sessions", func() bool {
		s := r.server.States()
		return s["a"].State == session.Established && s["b"].State == session.Established
	})
	// b may still have routes of lan-a from before the restart, which we do not know yet.
	r.change(t, ruleset.Operation{Op: ruleset.Leave, Pool: "pool", Member: "lan-b"})
	b.Until("the End-of-RIB marker", func() bool { return b.EndsLocked() == 1 })
	a.Until("the End-of-RIB marker", func() bool { return a.EndsLocked() == 1 }) // it may have had those of lan-b
	r.change(t, ruleset.Operation{Op: ruleset.Join, Pool: "pool", Member: "lan-c"})
	c := r.open(t, "13")
	c.Until("the session", func() bool { return r.server.States()["c"].State == session.Established })
	if c.Ends() != 0 || !r.Restarting() {
		t.Error("c lost nothing, and is to wait")
	}
}
