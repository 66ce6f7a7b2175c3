package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"weft/routeserver/internal/rawbgp"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// fat is a PE that announces routes with many communities to other PEs in its pool.
type fat struct {
	e          *Engine
	from       *Peer
	recipients []*Peer
}

func newFat(tb testing.TB, recipients int) *fat {
	store, err := ruleset.OpenStore(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { store.Close() })
	e, err := New(Config{Name: "rs", ASN: 65000, RouterID: [4]byte{10, 255, 0, 1}, ClusterID: [4]byte{10, 255, 0, 1}}, store, nil)
	if err != nil {
		tb.Fatal(err)
	}
	d := &ruleset.Document{Generation: 1, Vcps: []ruleset.Vcp{{Name: "pool"}}}
	for i := range recipients + 1 {
		rt := fmt.Sprintf("65000:%d", i+1)
		d.Peers = append(d.Peers, ruleset.Peer{Name: fmt.Sprintf("pe%d", i), Address: fmt.Sprintf("10.0.0.%d", i+1), ASN: 65000})
		d.Endpoints = append(d.Endpoints, ruleset.Endpoint{Name: fmt.Sprintf("e%d", i), Peer: fmt.Sprintf("pe%d", i), Family: "l2vpn-vpls", RT: rt, RD: rt})
		d.Vcps[0].Members = append(d.Vcps[0].Members, fmt.Sprintf("e%d", i))
	}
	if _, err := e.Replace(d, false); err != nil {
		tb.Fatal(err)
	}
	f := &fat{e: e}
	for i, endpoint := range e.Set().Document().Endpoints {
		peer, _ := e.Set().Peer(endpoint.Peer)
		p := e.Up(peer, [4]byte{10, 0, 0, byte(i + 1)}, [wire.Families]bool{wire.VPLS: true})
		if i == 0 {
			f.from = p
		} else {
			f.recipients = append(f.recipients, p)
		}
	}
	return f
}

// message returns an UPDATE with one route and this many bytes of communities.
func (f *fat) message(n, communities int) []byte {
	reach := append([]byte{0, 25, 65, 4, 10, 0, 0, 1, 0}, "\x00\x11\x00\x00\xfd\xe8\x00\x00\x00\x01"...)
	reach = binary.BigEndian.AppendUint16(reach, uint16(n))
	reach = append(reach, 0, 1, 0, 8, 0x40, 1, 0)
	run := make([]byte, communities)
	for i := 0; i+4 <= communities; i += 4 {
		binary.BigEndian.PutUint32(run[i:], uint32(n)<<14+uint32(i))
	}
	return rawbgp.Update(rawbgp.Attribute(0x40, 1, []byte{0}), rawbgp.Attribute(0x40, 2, nil), rawbgp.Attribute(0x40, 5, []byte{0, 0, 0, 100}),
		rawbgp.Attribute(0xc0, 8, run), rawbgp.Attribute(0x80, 14, reach), rawbgp.Attribute(0xc0, 16, []byte("\x00\x02\xfd\xe8\x00\x00\x00\x01")))
}

// announce passes a message of the PE to the engine, as its session does, and lets the others take their routes.
func (f *fat) announce(tb testing.TB, message []byte) {
	u, err := wire.ParseUpdate(message[wire.HeaderLength:], 65000)
	if err != nil || u.Malformed != "" {
		tb.Fatal(err, u)
	}
	if err := f.e.Update(f.from, u); err != nil {
		tb.Fatal(err)
	}
	for _, p := range f.recipients {
		for {
			t, more := p.Queue.Take(true)
			if !more {
				break
			}
			p.Queue.Written(t)
		}
	}
}

// alive returns the size of the heap that is in use.
func alive() int {
	runtime.GC()
	runtime.GC() // frees what finalizers held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// run returns an UPDATE with many routes that share their attributes.
func (f *fat) run(med uint32, from, to int) []byte {
	reach := []byte{0, 25, 65, 4, 10, 0, 0, 1, 0}
	for n := from; n < to; n++ {
		reach = append(reach, f.nlri(n)...)
	}
	return rawbgp.Update(rawbgp.Attribute(0x40, 1, []byte{0}), rawbgp.Attribute(0x40, 2, nil), rawbgp.Attribute(0x80, 4, binary.BigEndian.AppendUint32(nil, med)),
		rawbgp.Attribute(0x40, 5, []byte{0, 0, 0, 100}), rawbgp.Attribute(0x80, 14, reach), rawbgp.Attribute(0xc0, 16, []byte("\x00\x02\xfd\xe8\x00\x00\x00\x01")))
}

func (f *fat) nlri(n int) []byte {
	nlri := binary.BigEndian.AppendUint32([]byte("\x00\x11\x00\x00\xfd\xe8"), uint32(n>>16+1))
	return append(binary.BigEndian.AppendUint16(nlri, uint16(n)), 0, 1, 0, 8, 0x40, 1, 0)
}

// gone returns an UPDATE that withdraws them.
func (f *fat) gone(from, to int) []byte {
	unreach := []byte{0, 25, 65}
	for n := from; n < to; n++ {
		unreach = append(unreach, f.nlri(n)...)
	}
	return rawbgp.Update(rawbgp.Attribute(0x80, 15, unreach))
}

// TestTheBudgetIsTrue checks that a PE's routes take no more memory than is counted, whatever they are like.
func TestTheBudgetIsTrue(t *testing.T) {
	const many = 10_000
	for name, say := range map[string]func(f *fat){
		"one group": func(f *fat) {
			for n := 0; n < many; n += 1000 {
				f.announce(t, f.run(0, n, n+1000))
			}
		},
		"a group each": func(f *fat) {
			for n := range many {
				f.announce(t, f.run(uint32(n), n, n+1))
			}
		},
		"a group each, asked for again": func(f *fat) {
			for n := range many / 4 {
				f.announce(t, f.run(uint32(n), n, n+1))
			}
			for _, p := range f.recipients {
				f.e.Refresh(p, wire.VPLS, wire.RefreshRequest, false)
				taken(p, 0)
			}
		},
		"communities": func(f *fat) {
			for n := range many / 10 {
				f.announce(t, f.message(n, 900))
			}
			for _, p := range f.recipients {
				f.e.Refresh(p, wire.VPLS, wire.RefreshRequest, false)
				taken(p, 0)
			}
		},
		"survivors of long messages": func(f *fat) {
			for n := range 200 {
				f.announce(t, f.run(uint32(n), 3000*n, 3000*n+3000))
				f.announce(t, f.gone(3000*n+1, 3000*n+3000))
			}
		},
		"replaced label blocks": func(f *fat) {
			for base := range 40 {
				f.announce(t, bytes.ReplaceAll(f.run(0, 0, 2000), []byte("\x00\x08\x40\x01\x00"), []byte{0, 8, 0x40 + byte(base), 1, 0}))
			}
		},
		"nothing is left": func(f *fat) {
			f.announce(t, f.run(1, 0, 3000))
			f.announce(t, f.run(2, 0, 1500))
			f.announce(t, f.gone(0, 3000))
		},
	} {
		f := newFat(t, 4)
		before := alive()
		say(f)
		f.e.history = newHistory() // it is shared by all peers, and bounded
		in := f.e.table.In(f.from.Name)
		took, counted := alive()-before, in.Bytes()
		t.Logf("%s: %d routes take %d bytes, %d are counted", name, in.Len(), took, counted)
		if took > counted+1<<20 || in.Len() == 0 && counted != 0 {
			t.Errorf("%s: %d routes take %d bytes, %d are counted", name, in.Len(), took, counted)
		}
		runtime.KeepAlive(f)
	}
}

// TestAPEHasItsBytes checks that a PE whose routes take too much memory loses its session, after a warning.
func TestAPEHasItsBytes(t *testing.T) {
	f := newFat(t, 1)
	f.e.MaxBytes = 1 << 20
	var err error
	n := 0
	for ; err == nil && n < 1000; n++ {
		u, bad := wire.ParseUpdate(f.message(n, 20_000)[wire.HeaderLength:], 65000)
		if bad != nil {
			t.Fatal(bad)
		}
		err = f.e.Update(f.from, u)
	}
	var end *wire.Notification
	if !errors.As(err, &end) || end.Code != wire.Cease || end.Subcode != wire.MaxPrefixes || n < 40 || n > 60 {
		t.Fatalf("after %d routes of 20 kB: %v", n, err)
	}
	kinds := map[string]int{}
	events, _ := f.e.Events.After(0)
	for _, e := range events {
		kinds[e.Kind]++
	}
	if kinds["near-limit"] != 1 || kinds["limit"] != 1 {
		t.Errorf("events: %v", kinds)
	}
	f.e.Down(f.from, err.Error())
	if in := f.e.table.In(f.from.Name); in.Bytes() != 0 || in.Len() != 0 {
		t.Errorf("%d bytes of %d routes are left", in.Bytes(), in.Len())
	}
}

// TestMemoryFollowsTheWire checks that a PE's fat routes take as much memory as it has sent, however many others have them.
// The same holds after the others have asked for them again.
func TestMemoryFollowsTheWire(t *testing.T) {
	for _, recipients := range []int{0, 1, 8} {
		f := newFat(t, recipients)
		before, sent := alive(), 0
		const routes, communities = 300, 57_000
		for n := range routes {
			m := f.message(n, communities)
			sent += len(m)
			f.announce(t, m)
		}
		once := float64(alive()-before) / float64(sent)
		for _, p := range f.recipients {
			f.e.Refresh(p, wire.VPLS, wire.RefreshRequest, true)
			taken(p, wire.RefreshBegin)
		}
		again := float64(alive()-before) / float64(sent)
		t.Logf("%d recipients: %.2f bytes in memory for one on the wire, %.2f after they asked again", recipients, once, again)
		if once > 1.15 || again > 1.15 {
			t.Errorf("%d recipients: %.2f bytes in memory for one on the wire, %.2f after they asked again", recipients, once, again)
		}
		runtime.KeepAlive(f)
	}
}
