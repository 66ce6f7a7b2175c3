package out

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"weft/routeserver/internal/wire"
)

func block(n int) string {
	return fmt.Sprintf("\x00\x11\x00\x00\xfd\xe8\x00\x00\x00\x07%c%c\x00\x01\x00\x40\x01\x00\x10", n>>7, n&0x7f)
}

var attributes = &wire.Attributes{NextHop: "\x0a\x00\x00\x01"}

// neighbour applies the entries that it takes from a queue one by one, as a BGP speaker would.
type neighbour map[string]string // NLRI to route targets

func (n neighbour) take(q *Queue) bool {
	taken, more := q.Take(false)
	if !more {
		return false
	}
	u := []byte{}
	for _, b := range taken.Buffers {
		u = append(u, b...)
	}
	for len(u) > 0 {
		length := int(u[16])<<8 | int(u[17])
		if u[18] == wire.TypeUpdate {
			parsed, err := wire.ParseUpdate(u[wire.HeaderLength:length], 65000)
			if err != nil {
				panic(err)
			}
			for _, nlri := range parsed.Unreach {
				delete(n, nlri)
			}
			for _, nlri := range parsed.Reach {
				n[nlri] = parsed.Attributes.RTs
			}
		}
		u = u[length:]
	}
	q.Written(taken)
	return true
}

// TestCoalescingChangesNothing checks that the neighbour ends up with the routes that it should have, whatever the queue
// drops, and that the queue stays within its bound.
func TestCoalescingChangesNothing(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		q, n, want := NewQueue(), neighbour{}, neighbour{}
		const routes = 300
		for step := range 3000 {
			nlri := block(r.IntN(routes))
			_, known := want[nlri]
			if known && r.IntN(2) == 0 {
				delete(want, nlri)
				q.Withdraw(Withdraw(wire.VPLS, []string{nlri}))
			} else {
				target := fmt.Sprintf("\x00\x02\xfd\xe8\x00\x00\x00%c", r.IntN(4))
				want[nlri] = target
				q.Announce(Announce(wire.VPLS, attributes, wire.Reflection{Originator: "aaaa", Cluster: "bbbb"}, []string{nlri}), target, known)
			}
			switch {
			case step%500 == 499:
				q.mu.Lock()
				q.compact()
				if q.routes > 2*routes {
					t.Errorf("%d routes wait, of %d", q.routes, routes)
				}
				q.mu.Unlock()
			case r.IntN(400) == 0:
				n.take(q)
			}
		}
		for n.take(q) {
		}
		if fmt.Sprint(n) != fmt.Sprint(want) {
			t.Fatalf("seed %d: the neighbour has %d routes, not %d", seed, len(n), len(want))
		}
	}
}

// TestANeighbourThatTakesNothingDoesNotGrow checks that an endless stream of new routes that come and go leaves nothing
// behind.
func TestANeighbourThatTakesNothingDoesNotGrow(t *testing.T) {
	q := NewQueue()
	most := 0
	for i := range 60000 {
		nlri := []string{fmt.Sprintf("\x00\x11\x00\x00\xfd\xe8%c%c%c%c\x00\x00\x00\x01\x00\x40\x01\x00\x10", i>>21, i>>14&0x7f, i>>7&0x7f, i&0x7f)}
		q.Announce(Announce(wire.VPLS, attributes, wire.Reflection{}, nlri), "\x00\x02\xfd\xe8\x00\x00\x00\x01", false)
		q.Withdraw(Withdraw(wire.VPLS, nlri))
		most = max(most, q.Backlog())
	}
	if most > compactAt {
		t.Errorf("%d routes waited", most)
	}
}

// TestOldAttributesDoNotWaitForever has a few routes change their attributes of 60 KB again and again, for a neighbour that
// takes nothing. The queue must drop superseded attributes before they exceed twice what is due, plus a bound.
func TestOldAttributesDoNotWaitForever(t *testing.T) {
	q := NewQueue()
	const routes = 20
	most := 0
	for i := range 10000 {
		fat := &wire.Attributes{NextHop: "\x0a\x00\x00\x01", Path: strings.Repeat("x", 60000)}
		q.Announce(Announce(wire.VPLS, fat, wire.Reflection{}, []string{block(i % routes)}), "\x00\x02\xfd\xe8\x00\x00\x00\x01", i >= routes)
		held := 0
		for _, i := range q.items {
			held += i.batch.Attributes.Bytes()
		}
		most = max(most, held)
	}
	if most > compactBytes+2*routes*60000 {
		t.Errorf("%d bytes of attributes waited", most)
	}
}

func TestMessagesAreNotOvertaken(t *testing.T) {
	q := NewQueue()
	nlri := []string{block(1)}
	b := Announce(wire.VPLS, attributes, wire.Reflection{Originator: "aaaa", Cluster: "bbbb"}, nlri)
	q.Announce(b, "\x00\x02\xfd\xe8\x00\x00\x00\x01", false)
	q.Message(wire.EndOfRIB(wire.VPLS))
	q.Announce(b, "\x00\x02\xfd\xe8\x00\x00\x00\x02", true)
	q.mu.Lock()
	q.compact()
	if len(q.items) != 3 || q.items[1].message == nil {
		t.Errorf("%d entries are left", len(q.items))
	}
	q.mu.Unlock()
}

func TestOnWritten(t *testing.T) {
	q := NewQueue()
	result := make(chan bool, 1)
	q.OnWritten(func(ok bool) { result <- ok })
	if !<-result {
		t.Error("an empty queue is not written")
	}
	q.Withdraw(Withdraw(wire.VPLS, []string{block(1)}))
	q.OnWritten(func(ok bool) { result <- ok })
	taken, _ := q.Take(false)
	select {
	case <-result:
		t.Error("said to be written when it was only taken")
	default:
	}
	q.Written(taken)
	if !<-result {
		t.Error("not said to be written")
	}
	q.Withdraw(Withdraw(wire.VPLS, []string{block(1)}))
	q.OnWritten(func(ok bool) { result <- ok })
	q.Close()
	if <-result {
		t.Error("said to be written by a queue that was closed")
	}
}

// TestABatchIsEncodedOncePerKindOfRecipient checks this with twenty recipients of three kinds.
func TestABatchIsEncodedOncePerKindOfRecipient(t *testing.T) {
	attributes := &wire.Attributes{NextHop: "\x0a\x00\x00\x01", Path: "\x40\x01\x01\x00\x40\x02\x00\x40\x05\x04\x00\x00\x00\x64"}
	b := Announce(wire.VPLS, attributes, wire.Reflection{Originator: "aaaa", Cluster: "bbbb", ASN: 65000}, []string{block(1)})
	messages := map[*byte]bool{}
	for n := range 20 {
		q := NewQueue()
		q.Kind = wire.Kind{External: n%2 == 0, TwoOctet: n%4 == 0}
		q.Announce(b, "\x00\x02\xfd\xe8\x00\x00\x00\x01", false)
		taken, _ := q.Take(false)
		messages[&taken.Buffers[0][0]] = true
	}
	if len(messages) != 3 {
		t.Errorf("encoded %d times for three kinds", len(messages))
	}
}

// TestManyRoutesAreNotLookedAtOneByOne checks that a neighbour gets a large table, loses it and gets it again without a
// search for superseded routes, which would find nothing.
func TestManyRoutesAreNotLookedAtOneByOne(t *testing.T) {
	q, nlris := NewQueue(), make([]string, 5*compactAt)
	for i := range nlris {
		nlris[i] = fmt.Sprintf("\x00\x11\x00\x00\xfd\xe8%c%c%c%c\x00\x00\x00\x01\x00\x40\x01\x00\x10", i>>21, i>>14&0x7f, i>>7&0x7f, i&0x7f)
	}
	n := neighbour{}
	for round := range 3 {
		q.Announce(Announce(wire.VPLS, attributes, wire.Reflection{Originator: "aaaa", Cluster: "bbbb"}, nlris), "\x00\x02\xfd\xe8\x00\x00\x00\x01", false)
		if q.Backlog() != len(nlris) || q.limit != compactAt {
			t.Fatalf("round %d: after they were announced, %d routes wait, and the limit is %d", round, q.Backlog(), q.limit)
		}
		for n.take(q) {
		}
		q.Withdraw(Withdraw(wire.VPLS, nlris))
		if q.Backlog() != len(nlris) || q.limit != compactAt {
			t.Fatalf("round %d: after they were withdrawn, %d routes wait, and the limit is %d", round, q.Backlog(), q.limit)
		}
		for n.take(q) {
		}
		if len(n) > 0 {
			t.Fatalf("round %d: the neighbour has %d routes", round, len(n))
		}
	}
	for range 4 { // a neighbour that takes nothing is not sent what came and went
		q.Announce(Announce(wire.VPLS, attributes, wire.Reflection{}, nlris), "\x00\x02\xfd\xe8\x00\x00\x00\x01", false)
		q.Withdraw(Withdraw(wire.VPLS, nlris))
	}
	if q.Backlog() > 2*len(nlris) {
		t.Errorf("%d routes wait", q.Backlog())
	}
}

// TestLatelyWritten checks that the queue distinguishes what was written a while ago from what was written lately, with
// nothing and with much written in between.
func TestLatelyWritten(t *testing.T) {
	for _, between := range []int{0, 2000} {
		q := NewQueue()
		write := func(nlri string) time.Time {
			at := time.Now()
			q.Announce(Announce(wire.VPLS, attributes, wire.Reflection{}, []string{nlri}), "\x00\x02\xfd\xe8\x00\x00\x00\x01", false)
			taken, _ := q.Take(false)
			q.Written(taken)
			return at
		}
		first := write(block(1))
		for range between {
			write(block(2))
		}
		q.mu.Lock()
		for i := range q.marks { // moves them one minute back
			q.marks[i].appended, q.marks[i].written = q.marks[i].appended.Add(-time.Minute), q.marks[i].written.Add(-time.Minute)
		}
		q.mu.Unlock()
		first = first.Add(-time.Minute)
		second := write(block(3))
		after, upTo := q.Lately(time.Now().Add(-time.Second))
		if first.After(after) || !second.After(after) || second.After(upTo) {
			t.Errorf("%d between: lately is from %s to %s, written was %s and %s", between, after, upTo, first, second)
		}
		if n := len(q.marks); n > markMemory {
			t.Errorf("%d marks", n)
		}
	}
}

// TestBegunIsLately checks entries that are being written: a peer may end its session before the queue learns that they
// were written.
func TestBegunIsLately(t *testing.T) {
	q := NewQueue()
	before := time.Now()
	q.Announce(Announce(wire.VPLS, attributes, wire.Reflection{}, []string{block(1)}), "\x00\x02\xfd\xe8\x00\x00\x00\x01", false)
	if _, upTo := q.Lately(before); !upTo.IsZero() {
		t.Error("what waits was begun")
	}
	q.Take(false)
	if after, upTo := q.Lately(before); !after.IsZero() || upTo.Before(before) {
		t.Errorf("lately is from %s to %s, begun was later than %s", after, upTo, before)
	}
}
