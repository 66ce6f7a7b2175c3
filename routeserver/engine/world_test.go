package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"

	"weft/routeserver/ruleset"
)

func newWorld(t *testing.T, seed uint64) *world {
	store, err := ruleset.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	e, err := New(Config{Name: "rs", ASN: 65000, RouterID: [4]byte{10, 0, 0, 254}, ClusterID: [4]byte{10, 0, 0, 254}, StaleTime: time.Hour, MembershipWait: time.Hour}, store, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, r: rand.New(rand.NewPCG(seed, 7)), engine: e,
		speakers: map[string]*speaker{}, said: map[string]map[string]announcement{}, stale: map[string]map[string]bool{},
	}
	for i := range worldPeers {
		w.document.Peers = append(w.document.Peers, ruleset.Peer{Name: peerName(i), Address: fmt.Sprintf("10.0.0.%d", i+1), ASN: 65000})
	}
	w.randomise()
	if _, err := e.Replace(&w.document, false); err != nil {
		t.Fatal(err)
	}
	for i := range worldPeers {
		w.up(peerName(i))
	}
	return w
}

// randomise makes other endpoints and pools.
func (w *world) randomise() {
	w.document.Generation++
	w.document.Endpoints, w.document.Vcps = nil, nil
	for i := range worldSites {
		if w.r.IntN(5) > 0 {
			w.document.Endpoints = append(w.document.Endpoints, site(i, w.r.IntN(worldPeers), w.r.IntN(2)))
		}
	}
	for i := range worldPools {
		w.document.Vcps = append(w.document.Vcps, ruleset.Vcp{Name: poolName(i), Members: w.someEndpoints()})
	}
}

func (w *world) someEndpoints() []string {
	members := []string{}
	for _, e := range w.document.Endpoints {
		if w.r.IntN(3) == 0 {
			members = append(members, e.Name)
		}
	}
	return members
}

func (w *world) replace() string {
	if w.r.IntN(3) > 0 {
		w.randomise()
	}
	if _, err := w.engine.Replace(&w.document, false); err != nil {
		w.t.Fatal(err)
	}
	return "a replacement"
}

// change applies operations to both, after a rehearsal that must foresee what joins and leaves send.
func (w *world) change(exact bool, ops ...ruleset.Operation) {
	w.t.Helper()
	c := &ruleset.Change{Base: w.document.Generation, Generation: w.document.Generation + 1, Ops: ops, DryRun: true}
	dry, err := w.engine.Change(c)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range w.speakers {
		if s.peer.Queue.Backlog() > 0 {
			w.t.Fatal("a dry run sent something")
		}
	}
	c.DryRun = false
	done := make(chan struct{})
	for _, s := range w.speakers {
		go s.writeFor(done)
	}
	real, err := w.engine.Change(c)
	for range w.speakers {
		done <- struct{}{}
	}
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range real.Peers {
		if real.Peers[i].WrittenMicros == nil {
			w.t.Fatalf("%s was written to, but the receipt does not say so", real.Peers[i].Peer)
		}
		real.Peers[i].WrittenMicros = nil
	}
	if exact && !slices.Equal(dry.Peers, real.Peers) {
		w.t.Fatalf("foreseen %+v, done %+v", dry.Peers, real.Peers)
	}
	w.document.Generation++
}

func (w *world) joinOrLeave() string {
	if len(w.document.Vcps) == 0 || len(w.document.Endpoints) == 0 {
		return "nothing"
	}
	v := &w.document.Vcps[w.r.IntN(len(w.document.Vcps))]
	e := w.document.Endpoints[w.r.IntN(len(w.document.Endpoints))].Name
	if at := slices.Index(v.Members, e); at >= 0 {
		w.change(true, ruleset.Operation{Op: ruleset.Leave, Pool: v.Name, Member: e})
		v.Members = slices.Delete(slices.Clone(v.Members), at, at+1)
		return e + " leaves " + v.Name
	}
	w.change(true, ruleset.Operation{Op: ruleset.Join, Pool: v.Name, Member: e})
	v.Members = append(slices.Clone(v.Members), e)
	sort.Strings(v.Members)
	return e + " joins " + v.Name
}

func (w *world) endpoint() string {
	i := w.r.IntN(worldSites)
	at := slices.IndexFunc(w.document.Endpoints, func(e ruleset.Endpoint) bool { return e.Name == siteName(i) })
	if at >= 0 && w.r.IntN(2) == 0 {
		w.change(false, ruleset.Operation{Op: ruleset.RemoveEndpoint, Name: siteName(i)})
		w.document.Endpoints = slices.Delete(slices.Clone(w.document.Endpoints), at, at+1)
		for n := range w.document.Vcps {
			v := &w.document.Vcps[n]
			v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m string) bool { return m == siteName(i) })
		}
		return siteName(i) + " is removed"
	}
	e := site(i, w.r.IntN(worldPeers), w.r.IntN(2))
	w.change(false, ruleset.Operation{Op: ruleset.SetEndpoint, Endpoint: &e})
	if at >= 0 {
		w.document.Endpoints[at] = e
	} else {
		w.document.Endpoints = append(w.document.Endpoints, e)
	}
	return fmt.Sprintf("endpoint %+v", e)
}

func (w *world) pool() string {
	name := poolName(w.r.IntN(worldPools))
	at := slices.IndexFunc(w.document.Vcps, func(v ruleset.Vcp) bool { return v.Name == name })
	if at >= 0 && w.r.IntN(3) == 0 {
		w.change(true, ruleset.Operation{Op: ruleset.RemoveVcp, Name: name})
		w.document.Vcps = slices.Delete(slices.Clone(w.document.Vcps), at, at+1)
		return name + " is removed"
	}
	v := ruleset.Vcp{Name: name, Members: w.someEndpoints()}
	w.change(true, ruleset.Operation{Op: ruleset.SetVcp, Vcp: &v})
	if at >= 0 {
		w.document.Vcps[at] = v
	} else {
		w.document.Vcps = append(w.document.Vcps, v)
	}
	return fmt.Sprintf("pool %+v", v)
}
