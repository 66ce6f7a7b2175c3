package engine

import (
	"testing"

	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// TestPeersThatAreGoneAreForgotten removes peers with a session and after it. Nothing of them must be counted any more.
func TestPeersThatAreGoneAreForgotten(t *testing.T) {
	store, err := ruleset.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	e, err := New(Config{Name: "rs", ASN: 65000, RouterID: [4]byte{10, 0, 0, 1}, ClusterID: [4]byte{10, 0, 0, 1}}, store, nil)
	if err != nil {
		t.Fatal(err)
	}
	guest := ruleset.Peer{Name: "guest", Address: "192.0.2.1", ASN: 65000}
	with := &ruleset.Document{Generation: 1, Peers: []ruleset.Peer{guest}}
	for _, first := range []string{"the session", "the peer"} {
		without := &ruleset.Document{Generation: with.Generation + 1}
		if _, err := e.Replace(with, false); err != nil {
			t.Fatal(err)
		}
		p := e.Up(guest, [4]byte{10, 0, 0, 2}, [wire.Families]bool{wire.VPLS: true})
		if first == "the session" {
			e.Down(p, "it ends")
		}
		if _, err := e.Replace(without, false); err != nil {
			t.Fatal(err)
		}
		if first == "the peer" {
			e.Down(p, "it is removed")
		}
		if len(e.tallies) != 0 || len(e.table.Ins()) != 0 || len(e.lost) != 0 {
			t.Errorf("%s went first: there are %d tallies, %d tables and %d lost peers", first, len(e.tallies), len(e.table.Ins()), len(e.lost))
		}
		with.Generation += 2
	}
}
