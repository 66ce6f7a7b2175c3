package session_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/session"
)

// TestAStormFromOnePEDisturbsNobody checks that one PE's storm does not affect the others: their sessions are not
// reset, no route is lost or leaks, changes take effect at once, and afterwards nothing of the storm is left.
func TestAStormFromOnePEDisturbsNobody(t *testing.T) {
	r := start(t, session.Config{})
	r.ReceiptWait = time.Minute // a slow machine is not what this test is about
	// a has an endpoint that shares a pool with c's, and so gets c's announcements. b must not.
	r.change(t,
		ruleset.Operation{Op: ruleset.SetEndpoint, Endpoint: &ruleset.Endpoint{Name: "lan-d", Peer: "a", Family: "l2vpn-vpls", RT: "65000:4", RD: "65000:4"}},
		ruleset.Operation{Op: ruleset.SetVcp, Vcp: &ruleset.Vcp{Name: "other", Members: []string{"lan-c", "lan-d"}}})
	a, b := r.dial(t, "11"), r.dial(t, "12")
	n, m := vplsRoute(t, 1)
	a.Send(m)
	mine := map[string]string{n.String(): "65000:2"}
	b.Has(mine)
	before, heap, routines := r.server.States(), heapInUse(), runtime.NumGoroutine()

	over := make(chan struct{})
	sessions, knocks := newStorm(t, r.remote, 1), newStorm(t, r.remote, 2)
	var storms sync.WaitGroup
	storms.Add(2)
	go func() { defer storms.Done(); sessions.rage(200) }()
	go func() { defer storms.Done(); knocks.knock(300) }()
	go func() { storms.Wait(); close(over) }()
	changes := 0
	for raging := true; raging || changes < 10; changes++ {
		select {
		case <-over:
			raging = false
		default:
		}
		r.promptly(t, ruleset.Leave)
		b.Has(map[string]string{})
		r.promptly(t, ruleset.Join)
		b.Has(mine)
	}
	t.Logf("%d changes during 500 connections, of which %d became sessions", 2*changes, sessions.established)
	if sessions.established < 50 {
		t.Errorf("only %d of 200 connections became sessions", sessions.established)
	}

	b.Until("the end of c", func() bool { return r.server.States()["c"].State != session.Established })
	a.Has(map[string]string{})
	for _, name := range []string{"a", "b"} {
		if now := r.server.States()[name]; now.State != session.Established || !now.Since.Equal(before[name].Since) {
			t.Errorf("the session of %s was %+v and is %+v", name, before[name], now)
		}
	}
	for _, u := range b.Updates() {
		for _, attribute := range u.PathAttributes {
			if reach, ok := attribute.(*bgp.PathAttributeMpReachNLRI); ok && reach.Value[0].NLRI.String() != n.String() {
				t.Fatalf("b was sent %s", reach.Value[0].NLRI)
			}
		}
	}
	b.Until("the end of its goroutines", func() bool { return runtime.NumGoroutine() <= routines })
	if now := heapInUse(); now > heap+64<<20 {
		t.Errorf("%d bytes of heap were in use before the storm, %d after it", heap, now)
	}
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// promptly makes lan-b join or leave. The change must be on the wire to b before it returns, and soon.
func (r *region) promptly(t *testing.T, op string) {
	t.Helper()
	begin := time.Now()
	receipt := r.change(t, ruleset.Operation{Op: op, Pool: "pool", Member: "lan-b"})
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("the change took %s", took)
	}
	for _, p := range receipt.Peers {
		if p.Peer == "b" && p.WrittenMicros == nil {
			t.Errorf("b was not written to: %+v", receipt)
		}
	}
}

// TestConnectionsThatSayNothingAreFew checks that a PE that opens silent connections keeps a few, and can still open
// its session.
func TestConnectionsThatSayNothingAreFew(t *testing.T) {
	r := start(t, session.Config{})
	b, routines := r.dial(t, "12"), runtime.NumGoroutine()
	s := newStorm(t, r.remote, 3)
	for range 100 {
		if c := s.dial(); c != nil {
			defer c.Close()
		}
	}
	b.Until("the end of most of them", func() bool { return runtime.NumGoroutine() < routines+20 })
	r.dial(t, "13")
}

// TestSessionsThatFlapArePaced checks that a PE that opens and closes sessions as fast as it can gets those of the
// first burst (ten seconds' worth) and is mostly refused after that, with one event. It waits until the route server
// has ended its last session: an earlier connection is refused as a second one, whatever the pace, and how often that
// happens depends on the machine.
func TestSessionsThatFlapArePaced(t *testing.T) {
	const rate = 1
	r := start(t, session.Config{ConnectRate: rate})
	s := newStorm(t, r.remote, 4)
	s.ready = func() {
		r.await(t, "the end of the last session", func() bool { return r.server.States()["c"].State != session.Established })
	}
	begin := time.Now()
	s.rage(300)
	most := 10*rate + rate*int(time.Since(begin).Seconds()+1)
	if s.established < 10*rate || s.established > most {
		t.Errorf("%d of 300 connections became sessions, not %d to %d", s.established, 10*rate, most)
	}
	events, _ := r.Events.After(0)
	kinds := map[string]int{}
	for _, e := range events {
		if e.Peer == "c" {
			kinds[e.Kind]++
		}
	}
	if kinds["connections"] == 0 || len(events) > 100 {
		t.Errorf("%d events: %v", len(events), kinds)
	}
	time.Sleep(1100 * time.Millisecond)
	r.dial(t, "13")
}
