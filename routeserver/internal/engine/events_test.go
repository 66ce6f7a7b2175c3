package engine

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weft/routeserver/internal/wire"
)

func TestWhatHappensOverAndOverIsToldInOneEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLog()
		texts := func() (list []string) {
			events, _ := l.After(0)
			for _, e := range events {
				list = append(list, e.Peer+": "+e.Text)
			}
			return list
		}
		for range 5000 {
			l.AddOften("quarantined", "pe0", "foreign-rt", "a route")
		}
		l.AddOften("quarantined", "pe0", "foreign-rd", "another reason")
		l.AddOften("quarantined", "pe1", "foreign-rt", "another peer")
		if have := texts(); len(have) != 3 || have[0] != "pe0: a route" {
			t.Fatalf("%q", have)
		}
		time.Sleep(quiet + time.Second)
		have := texts()
		if len(have) != 4 || !strings.Contains(have[3], "and 4998 more like this within 10s") {
			t.Fatalf("%q", have)
		}
		l.AddOften("quarantined", "pe0", "foreign-rt", "the last")
		time.Sleep(quiet)
		if have = texts(); len(have) != 5 || have[4] != "pe0: the last" {
			t.Fatalf("%q", have)
		}
		time.Sleep(2 * quiet)
		l.mu.Lock()
		remembered := len(l.hushed)
		l.mu.Unlock()
		if remembered != 0 || len(texts()) != 5 {
			t.Fatalf("%d are remembered; %q", remembered, texts())
		}
		l.AddOften("quarantined", "pe0", "foreign-rt", "at once again")
		if have = texts(); len(have) != 6 {
			t.Fatalf("%q", have)
		}
		time.Sleep(2 * quiet)
	})
}

// TestNobodyPushesOutAnothersHistory checks that a peer's events, however many and whatever they are, push out none of the
// others'.
func TestNobodyPushesOutAnothersHistory(t *testing.T) {
	l := NewLog()
	for peer := range 200 {
		for n := range 3 {
			l.Add("session-up", fmt.Sprintf("pe%d", peer), fmt.Sprint(n))
		}
	}
	long := strings.Repeat("x", 20_000)
	for n := range 20_000 {
		l.Add("limit", "loud", long[:n])
	}
	kept := map[string]int{}
	last, size := uint64(0), 0
	events, _ := l.After(0)
	for _, e := range events {
		if e.Seq <= last {
			t.Fatal("events are not in order")
		}
		last, size = e.Seq, size+len(e.Text)
		kept[e.Peer]++
	}
	for peer := range 200 {
		if n := kept[fmt.Sprintf("pe%d", peer)]; n != 3 {
			t.Errorf("%d events of pe%d are left", n, peer)
		}
	}
	if len(events) > 2*logSize || size > 2*logSize*2*eventText || kept["loud"] < logSize/4 || last != 20_600 {
		t.Errorf("%d events of %d bytes, %d of the loud peer; the last is %d", len(events), size, kept["loud"], last)
	}
}

// TestFlapsAreGathered checks a peer whose session goes up and down without end: a few events are logged one by one, and
// then one for the rest.
func TestFlapsAreGathered(t *testing.T) {
	e, p, _ := limited(t)
	peer := p.Config()
	for range 1000 {
		e.Down(p, "it flaps")
		p = e.Up(peer, [4]byte{10, 0, 0, 1}, [wire.Families]bool{wire.VPLS: true})
	}
	events, _ := e.Events.After(0)
	flaps := 0
	for _, event := range events {
		if event.Peer == peer.Name {
			flaps++
		}
	}
	if flaps > 2*flapsTold+2 {
		t.Errorf("%d events of 1000 flaps", flaps)
	}
}
