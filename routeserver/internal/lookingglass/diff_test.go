package lookingglass_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/lookingglass"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

func target(t *testing.T, text string) string {
	t.Helper()
	rt, err := wire.ParseRT(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(rt[:])
}

// threeSites makes three PEs with a route each; the first two share a pool.
func threeSites(t *testing.T) (*engine.Engine, []*engine.Peer) {
	t.Helper()
	e, _, peers := world(t)
	return e, peers
}

func world(t *testing.T) (*engine.Engine, *ruleset.Document, []*engine.Peer) {
	t.Helper()
	store, err := ruleset.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	e, err := engine.New(engine.Config{Name: "rs", ASN: 65000, RouterID: [4]byte{10, 0, 0, 254}}, store, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := &ruleset.Document{Generation: 1, Vcps: []ruleset.Vcp{{Name: "pool", Members: []string{"e1", "e2"}}}}
	for i := 1; i <= 3; i++ {
		d.Peers = append(d.Peers, ruleset.Peer{Name: fmt.Sprintf("pe%d", i), Address: fmt.Sprintf("10.0.0.%d", i), ASN: 65000})
		rt := fmt.Sprintf("65000:%d", i)
		d.Endpoints = append(d.Endpoints, ruleset.Endpoint{Name: fmt.Sprintf("e%d", i), Peer: fmt.Sprintf("pe%d", i), Family: "l2vpn-vpls", RT: rt, RD: rt})
	}
	if _, err := e.Replace(d, false); err != nil {
		t.Fatal(err)
	}
	var peers []*engine.Peer
	for i := 1; i <= 3; i++ {
		peer, _ := e.Set().Peer(fmt.Sprintf("pe%d", i))
		var families [wire.Families]bool
		families[wire.VPLS] = true
		p := e.Up(peer, [4]byte{10, 0, 0, byte(i)}, families)
		peers = append(peers, p)
		a := &wire.Attributes{NextHop: "\x0a\x00\x00\x01", RTs: target(t, fmt.Sprintf("65000:%d", i)), Path: "\x40\x01\x01\x00\x40\x02\x00\x40\x05\x04\x00\x00\x00\x64"}
		u := &wire.Update{Attributes: a, ReachFamily: wire.VPLS, Reach: []string{fmt.Sprintf("\x00\x11\x00\x00\xfd\xe8\x00\x00\x00%c\x00\x01\x00\x01\x00\x40\x01\x00\x10", i)}}
		if err := e.Update(p, u); err != nil {
			t.Fatal(err)
		}
	}
	return e, d, peers
}

func TestDiffFindsWhatIsWrong(t *testing.T) {
	e, d, _ := world(t)
	kinds := func(s engine.Snapshot, compared int, want ...string) {
		t.Helper()
		diff := lookingglass.DiffPeer(s, "pe1")
		have := []string{}
		for _, x := range diff.Differences {
			have = append(have, fmt.Sprintf("%s %s %v %v", x.Kind, x.Peer, x.Expected, x.Found))
		}
		if diff.Compared != compared || !slices.Equal(have, want) {
			t.Errorf("%d compared: %q; want %d: %q", diff.Compared, have, compared, want)
		}
	}
	kinds(e.Snapshot("pe1"), 1)

	s := e.Snapshot("pe1")
	s.Out[0].Targets = target(t, "65000:3")
	kinds(s, 1, "route-targets pe2 [65000:1] [65000:3]")

	leaked := s.Out[0]
	s.Out = nil
	kinds(s, 1, "missing pe2 [65000:1] []")

	s = e.Snapshot("pe1")
	leaked.Peer, leaked.NLRI = "pe3", s.In[slices.IndexFunc(s.In, func(v engine.View) bool { return v.Peer == "pe3" })].NLRI
	s.Out = append(s.Out, leaked) // the third is in no pool
	kinds(s, 2, "unexpected pe3 [] [65000:3]")

	s = e.Snapshot("pe1")
	s.In = slices.DeleteFunc(s.In, func(v engine.View) bool { return v.Peer == "pe2" }) // withdrawn, but still in the Adj-RIB-Out
	kinds(s, 1, "unexpected pe2 [] [65000:1]")

	d.Vcps[0].Members, d.Generation = []string{"e1", "e3"}, 2
	other, err := ruleset.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	s = e.Snapshot("pe1")
	s.Set = other // as if a change had not been carried out
	kinds(s, 2, "unexpected pe2 [] [65000:1]", "missing pe3 [65000:1] []")
	if _, err := e.Replace(d, false); err != nil {
		t.Fatal(err)
	}
	kinds(e.Snapshot("pe1"), 1)

	s = e.Snapshot("pe1")
	s.Constrains, s.Settled = true, true // the PE asks for nothing
	kinds(s, 1, "unexpected pe3 [] [65000:1]")
}

// TestDiffFindsByItselfWhatDoesNotFit checks that a route that grows beyond the messages of a PE is withheld, and no
// difference. It is a difference if the PE is sent it nevertheless, or is not sent a route that fits.
func TestDiffFindsByItselfWhatDoesNotFit(t *testing.T) {
	e, peers := threeSites(t)
	send := func(communities int) {
		t.Helper()
		long := "\xd0\x08" + string([]byte{byte(communities >> 6), byte(communities << 2)}) + strings.Repeat("\x00\x00\x00\x01", communities)
		a := &wire.Attributes{NextHop: "\x0a\x00\x00\x01", RTs: target(t, "65000:2"), Path: "\x40\x01\x01\x00\x40\x02\x00\x40\x05\x04\x00\x00\x00\x64" + long}
		u := &wire.Update{Attributes: a, ReachFamily: wire.VPLS, Reach: []string{"\x00\x11\x00\x00\xfd\xe8\x00\x00\x00\x02\x00\x01\x00\x01\x00\x40\x01\x00\x10"}}
		if err := e.Update(peers[1], u); err != nil {
			t.Fatal(err)
		}
	}
	for _, communities := range []int{10, 970, 980, 990, 1000, 1010, 1023} {
		send(communities)
		s := e.Snapshot("pe1")
		d := lookingglass.DiffPeer(s, "pe1")
		if n := len(d.Withheld); len(d.Differences) > 0 || n+len(s.Out) != 1 || (n == 1) != (communities > 1000) && communities != 1000 {
			t.Errorf("%d communities: %+v", communities, d)
		}
		x, err := lookingglass.Explain(e, "e2", "e1", "")
		if err != nil || (x.Verdict == "sent" || strings.Contains(x.Text, "waits")) == (len(d.Withheld) == 1) {
			t.Errorf("%d communities: %+v, %v", communities, x, err)
		}
	}
	s := e.Snapshot("pe1")
	s.Out = append(s.Out, s.In[slices.IndexFunc(s.In, func(v engine.View) bool { return v.Peer == "pe2" })])
	s.Out[0].Targets = target(t, "65000:1")
	if d := lookingglass.DiffPeer(s, "pe1"); len(d.Differences) != 1 || d.Differences[0].Kind != "unexpected" {
		t.Errorf("sent all the same: %+v", d)
	}
	send(10)
	s = e.Snapshot("pe1")
	s.Out = nil
	if d := lookingglass.DiffPeer(s, "pe1"); len(d.Differences) != 1 || d.Differences[0].Kind != "missing" || len(d.Withheld) > 0 {
		t.Errorf("not sent: %+v", d)
	}
}
