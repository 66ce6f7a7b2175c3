package engine

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sort"
	"testing"
	"time"

	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

const (
	worldPeers   = 5
	worldSites   = 8
	worldPools   = 4
	worldTargets = 12 // route targets, which endpoints take over from each other
)

// world is a route server with its PEs, and what they have announced.
type world struct {
	t        testing.TB
	r        *rand.Rand
	families [worldSites]wire.Family
	dir      string
	store    *ruleset.Store
	engine   *Engine
	document *ruleset.Document
	fallback *ruleset.Document                  // set while the document is on trial
	speakers map[string]*speaker                // sessions that are up
	said     map[string]map[string]announcement // announcements by peer, then by route
	stale    map[string]map[string]bool         // those from before the session was lost
	lost     map[string]bool                    // PEs without a session whose routes are kept
	long     map[string][wire.Families]bool     // families of these PEs that are long-lived stale
	restarts map[string]wire.Restart            // restart capabilities of these PEs
	kept     map[string]map[string]entry        // routes that PEs without a session keep of what they were sent
	doing    string                             // the last change of the rule set
	blamed   map[string]bool                    // PEs that have ended a session
	parted   map[string]bool                    // PEs that lost access to something while the route server restarts

	followers []func() string // copies of all tables
}

func peerName(i int) string { return fmt.Sprintf("pe%d", i) }
func siteName(i int) string { return fmt.Sprintf("site%d", i) }
func poolName(i int) string { return fmt.Sprintf("pool%d", i) }

func newWorld(t testing.TB, seed uint64) *world {
	w := &world{
		t: t, r: rand.New(rand.NewPCG(seed, 1<<32)), document: &ruleset.Document{Generation: 1},
		speakers: map[string]*speaker{}, said: map[string]map[string]announcement{}, stale: map[string]map[string]bool{},
		lost: map[string]bool{}, long: map[string][wire.Families]bool{}, restarts: map[string]wire.Restart{}, kept: map[string]map[string]entry{}, parted: map[string]bool{}, blamed: map[string]bool{},
	}
	w.families = w.someFamilies()
	var err error
	if w.dir, err = os.MkdirTemp("", "weft-world"); err != nil {
		t.Fatal(err)
	}
	w.open()
	for i := range worldPeers {
		w.forget(peerName(i))
		w.document.Peers = append(w.document.Peers, peerAt(i, 0))
	}
	w.document = w.random()
	w.must(w.engine.Replace(w.document, false))
	for i := range worldPeers {
		w.connect(peerName(i))
	}
	return w
}

// open starts the route server with what is on its disk.
func (w *world) open() {
	var err error
	if w.store, err = ruleset.OpenStore(w.dir); err != nil {
		w.t.Fatal(err)
	}
	w.engine, err = New(Config{
		Name: "rs", ASN: 65000, RouterID: [4]byte{10, 0, 0, 254}, ClusterID: [4]byte{10, 0, 0, 254},
		StaleTime: time.Hour, LongLived: longLived(2 * time.Hour), MembershipWait: time.Hour, Settle: time.Hour, HoldBack: 1000 * time.Hour,
	}, w.store, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.followers = []func() string{Follow(w.t, w.engine, 1000), Follow(w.t, w.engine, 17)}
}

// kill ends the route server like a signal that it cannot catch: only the disk is left, and no timer.
func (w *world) kill() {
	e := w.engine
	if e == nil {
		return // it did not start
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range e.peers {
		if p.membership != nil {
			p.membership.timer.Stop()
		}
		if p.patience != nil {
			p.patience.Stop()
		}
	}
	for _, l := range e.lost {
		if l.timer != nil {
			l.timer.Stop()
		}
	}
	if e.deferral != nil {
		e.deferral.timer.Stop()
	}
	if e.trial != nil && e.trial.timer != nil {
		e.trial.timer.Stop()
	}
	w.store.Close()
}

func (w *world) close() {
	w.kill()
	os.RemoveAll(w.dir)
}

func (w *world) must(_ *Receipt, err error) {
	if err != nil {
		w.t.Fatal(err)
	}
}

// step does one random step and returns its description.
func (w *world) step() string {
	w.clearParted()
	if w.fallback != nil && w.r.IntN(4) == 0 {
		return w.endTrial()
	}
	steps := []struct {
		weight int
		do     func() string
	}{
		{36, w.announce}, {10, w.withdraw}, {4, w.malformed}, {12, w.constrain}, {3, w.askAgain}, {8, w.sayAgain},
		{15, w.joinOrLeave}, {5, w.batch}, {8, w.endpoint}, {5, w.pool}, {4, w.peer}, {1, w.replace}, {2, w.refused}, {3, w.trial},
		{14, w.session}, {8, w.poison}, {6, w.time}, {8, w.backlog}, {1, w.restart},
	}
	total := 0
	for _, s := range steps {
		total += s.weight
	}
	n := w.r.IntN(total)
	for _, s := range steps {
		if n -= s.weight; n < 0 {
			return s.do()
		}
	}
	return "nothing"
}

// anySpeaker returns a PE with a session, or nil.
func (w *world) anySpeaker() *speaker {
	names := sortedKeys(w.speakers)
	if len(names) == 0 {
		return nil
	}
	return w.speakers[names[w.r.IntN(len(names))]]
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// forget drops everything that a PE announced.
func (w *world) forget(name string) {
	w.said[name], w.stale[name] = map[string]announcement{}, map[string]bool{}
	delete(w.lost, name)
	delete(w.long, name)
}

func (w *world) unsay(name, key string) {
	delete(w.said[name], key)
	delete(w.stale[name], key)
	if s := w.speakers[name]; s != nil {
		delete(s.replaced, key)
		for f := range wire.Families {
			delete(s.again[f], key)
		}
	}
}

// during runs something in the engine that waits until the PEs concerned have been written to.
func (w *world) during(do func() error) error {
	w.engine.ReceiptWait = 0
	for _, s := range w.speakers {
		if s.slow {
			w.engine.ReceiptWait = 1
		}
	}
	done := make(chan error, 1)
	go func() { done <- do() }()
	for {
		select {
		case err := <-done:
			return err
		case <-time.After(20 * time.Microsecond):
		}
		for _, s := range w.speakers {
			if !s.slow {
				s.drain()
			}
		}
	}
}
