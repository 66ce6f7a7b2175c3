package engine

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// heavy returns attributes of the first site with this many bytes of communities.
func heavy(bytes int) *wire.Attributes {
	communities := binary.BigEndian.AppendUint16([]byte{0xd0, 8}, uint16(bytes))
	return &wire.Attributes{
		NextHop: "\x0a\x00\x00\x01", RTs: "\x00\x02\xfd\xe8\x00\x00\x00\x01",
		Path: "\x40\x01\x01\x00\x40\x02\x00\x40\x05\x04\x00\x00\x00\x64" + string(communities) + strings.Repeat("\x00\x00\x00\x01", bytes/4),
	}
}

// hears counts the NLRIs that a queue announces and withdraws, and checks that none were skipped.
func hears(t *testing.T, p *Peer) (announced, withdrawn int) {
	t.Helper()
	for {
		taken, more := p.Queue.Take(p.extended)
		if !more {
			return announced, withdrawn
		}
		if len(taken.Skipped) > 0 {
			t.Errorf("%s: the books say that routes are sent which do not fit: %x", p.Name, taken.Skipped)
		}
		announced, withdrawn = announced+taken.Announced, withdrawn+taken.Withdrawn
		p.Queue.Written(taken)
	}
}

// copyOf follows a feed, as a BMP station does, and returns how many routes each peer has been sent.
func copyOf(e *Engine, f *Feed) map[string]int {
	has := map[string]int{}
	for f.Behind() || f.Len() > 0 {
		for _, entry := range f.Take() {
			if entry.Kind != RoutesOut {
				continue
			}
			n := len(entry.Batch.NLRIs)
			if entry.Batch.Attributes == nil {
				n = -n
			}
			has[entry.Peer.Name] += n
		}
		if f.Len() == 0 && f.Behind() {
			e.Copy(f)
		}
	}
	return has
}

// TestARouteThatGrowsBeyondAMessageIsWithdrawn has two PEs, of which one accepts extended messages. The other loses a route
// that does not fit any more, and all counters and tables say so. The route is back when it fits again.
func TestARouteThatGrowsBeyondAMessageIsWithdrawn(t *testing.T) {
	e := trialEngine(t, t.TempDir())
	d := pool(1, "e0", "e1", "e2")
	if _, err := e.Replace(d, false); err != nil {
		t.Fatal(err)
	}
	up := func(i int, extended bool) *Peer {
		peer, _ := e.Set().Peer(d.Endpoints[i].Peer)
		return e.Establish(peer, &wire.Open{
			ID: [4]byte{10, 0, 0, byte(i + 1)}, FourOctet: true, Families: [wire.Families]bool{true, true}, Extended: extended,
		}, Opening{})
	}
	p, small, large := up(0, true), up(1, false), up(2, true)
	both := func(announced, withdrawn, withWide int) {
		t.Helper()
		if a, w := hears(t, small); a != announced || w != withdrawn {
			t.Errorf("%s hears %d announcements and %d withdrawals, not %d and %d", small.Name, a, w, announced, withdrawn)
		}
		if a, w := hears(t, large); a != withWide || w != 0 {
			t.Errorf("%s hears %d announcements and %d withdrawals, not %d", large.Name, a, w, withWide)
		}
	}
	route := labelBlock("\x00\x08", "\x40\x01\x00")
	send := func(bytes int) {
		t.Helper()
		if err := e.Update(p, &wire.Update{Reach: []string{route}, Attributes: heavy(bytes)}); err != nil {
			t.Fatal(err)
		}
	}
	books := func(when string, has bool) {
		t.Helper()
		views, _ := e.Select(Filter{Table: AdjOut, Peer: small.Name, AnyFamily: true, AnyRT: true})
		if len(views) != 1 || (views[0].Withheld == "") != has || views[0].Sent.IsZero() == has {
			t.Errorf("%s: adj-out is %+v", when, views)
		}
		n, path := 0, e.Path("e0", "e1")
		if has {
			n = 1
		}
		if (path.Out[route].Withheld == "") != has || len(e.Snapshot(small.Name).Out) != n {
			t.Errorf("%s: the path is %+v, the snapshot %+v", when, path.Out, e.Snapshot(small.Name).Out)
		}
		for _, a := range e.Accounts() {
			if a.Peer == small.Name && (a.Out[wire.VPLS] != n || a.Withheld[wire.VPLS] != 1-n) {
				t.Errorf("%s: %d routes are counted as sent, %d as withheld", when, a.Out[wire.VPLS], a.Withheld[wire.VPLS])
			}
		}
		f := e.Feed()
		defer e.Unfeed(f)
		if has := copyOf(e, f); has[small.Name] != n || has[large.Name] != 1 {
			t.Errorf("%s: a feed that begins says %v", when, has)
		}
	}
	live := e.Feed()
	send(100)
	both(1, 0, 1)
	books("small", true)
	send(4092)
	both(0, 1, 1)
	books("grown", false)
	send(4088)
	both(0, 0, 1)
	books("another that is too long", false)
	e.Refresh(small, wire.VPLS, wire.RefreshRequest, false)
	both(0, 0, 0)
	send(200)
	both(1, 0, 1)
	books("small again", true)
	send(4092)
	if err := e.Update(p, &wire.Update{Unreach: []string{route}, Attributes: &wire.Attributes{}}); err != nil {
		t.Fatal(err)
	}
	hears(t, large)
	if a, w := hears(t, small); a != 0 || w != 1 {
		t.Errorf("grown and gone: %d announcements, %d withdrawals", a, w)
	}
	if has := copyOf(e, live); has[small.Name] != 0 {
		t.Errorf("the feed from the beginning says %v", has)
	}
	events, _ := e.Events.After(0)
	if n := len(slices.DeleteFunc(events, func(event Event) bool { return event.Kind != "withheld" || event.Peer != small.Name })); n != 1 {
		t.Errorf("%d events within their while, not 1", n)
	}
}

// TestTargetsTakeRoom checks that more route targets leave less room for the rest of a route. A change that adds one for a
// PE withdraws the route there, and its receipt and its rehearsal say so.
func TestTargetsTakeRoom(t *testing.T) {
	e := trialEngine(t, t.TempDir())
	d := pool(1, "e0", "e1", "e2")
	d.Endpoints[2].Peer = d.Endpoints[1].Peer
	d.Vcps[0].Members = []string{"e0", "e1"}
	if _, err := e.Replace(d, false); err != nil {
		t.Fatal(err)
	}
	peer := func(i int) *Peer {
		config, _ := e.Set().Peer(d.Endpoints[i].Peer)
		return e.Up(config, [4]byte{10, 0, 0, byte(i + 1)}, [wire.Families]bool{true, true})
	}
	p, other := peer(0), peer(1)
	route := labelBlock("\x00\x08", "\x40\x01\x00")
	room, bytes := 0, 3900
	for ; room != len(route); bytes += 4 { // exactly, or up to three bytes more
		room = max(len(route), heavy(bytes).Room(wire.EVPN, e.reflection(p.Name), wire.Kind{}, 1, wire.MaxLength))
		if room-len(route) < 4 {
			break
		}
	}
	if err := e.Update(p, &wire.Update{Reach: []string{route}, Attributes: heavy(bytes)}); err != nil {
		t.Fatal(err)
	}
	if a, _ := hears(t, other); a != 1 {
		t.Fatalf("%d announcements with one route target", a)
	}
	join := &ruleset.Change{Base: 1, Generation: 2, DryRun: true, Ops: []ruleset.Operation{{Op: ruleset.Join, Pool: d.Vcps[0].Name, Member: "e2"}}}
	rehearsal, err := e.Change(join)
	if err != nil {
		t.Fatal(err)
	}
	join.DryRun = false
	receipt, err := e.Change(join)
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*Receipt{"rehearsal": rehearsal, "receipt": receipt} {
		if i := slices.IndexFunc(r.Peers, func(line PeerReceipt) bool { return line.Peer == other.Name }); i < 0 ||
			r.Peers[i].Announced != 0 || r.Peers[i].Withdrawn != 1 || r.Peers[i].Withheld != 1 {
			t.Errorf("%s: %+v", name, r.Peers)
		}
	}
	if a, w := hears(t, other); a != 0 || w != 1 {
		t.Errorf("%d announcements and %d withdrawals", a, w)
	}
}
