package out

import (
	"net"
	"sync"
	"time"

	"weft/routeserver/internal/wire"
)

// item is one entry of a queue: a batch, or a message that later entries must not overtake.
type item struct {
	batch   *Batch
	targets string // of the recipient; for announcements
	known   bool   // the neighbour had these routes before this entry
	message []byte // instead of a batch
	at      uint64 // position: the number of entries appended so far, with this one
	when    time.Time
}

// bytes returns the memory of an item itself.
func (i *item) bytes() int {
	if i.batch == nil {
		return len(i.message)
	}
	return i.batch.bytes
}

// compactAt is the number of routes in a queue from which on the queue looks for superseded ones, unless the neighbour has
// so many routes that there are probably none. compactBytes is the same bound for their attributes and NLRIs in bytes: a
// few routes may have attributes of 64 KB each and change them again and again.
const (
	compactAt    = 4096
	compactBytes = 8 << 20
)

// Queue holds the routes and messages that a neighbour has not been sent yet. When entries pile up, the queue drops
// superseded ones. So it never holds more than about twice the routes that the neighbour has plus those that it should
// have.
type Queue struct {
	Kind wire.Kind // of the neighbour; does not change after the first Take

	mu       sync.Mutex
	items    []item
	routes   int    // in items
	limit    int    // number of routes at which to compact next
	bytes    int    // memory of the items, at most
	most     int    // number of bytes at which to compact next
	held     int    // routes that the neighbour has once everything here is written
	peak     int    // maximum of held since the queue was empty
	appended uint64 // number of entries ever appended
	written  uint64 // number of those that the kernel has
	closed   bool
	waiting  []waiter
	wake     chan struct{}
	flushes  []flush // the last ones, the oldest first
	marks    []flush // some of the flushes, over a longer time
	taken    time.Time
}

// flush is a pair of times: everything appended up to the first was written at the second.
type flush struct{ appended, written time.Time }

// flushMemory is the number of flushes that are remembered.
const flushMemory = 256

// Marks are markEvery apart, so that they cover the last half minute however much is written.
const (
	markEvery  = 500 * time.Millisecond
	markMemory = 64
)

type waiter struct {
	upTo uint64
	done func(ok bool)
}

// NewQueue makes an empty queue.
func NewQueue() *Queue {
	return &Queue{wake: make(chan struct{}, 1), limit: compactAt, most: compactBytes}
}

// Announce appends announcements; known says that the neighbour already has these routes in another form.
func (q *Queue) Announce(b *Batch, targets string, known bool) {
	gained := len(b.NLRIs)
	if known {
		gained = 0
	}
	q.append(item{batch: b, targets: targets, known: known}, len(b.NLRIs), gained)
}

// Withdraw appends withdrawals of routes that were announced.
func (q *Queue) Withdraw(b *Batch) {
	q.append(item{batch: b, known: true}, len(b.NLRIs), -len(b.NLRIs))
}

// Message appends a whole message, such as the End-of-RIB marker.
func (q *Queue) Message(m []byte) { q.append(item{message: m}, 0, 0) }

func (q *Queue) append(i item, routes, gained int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.appended++
	i.at, i.when = q.appended, time.Now()
	q.items = append(q.items, i)
	q.routes += routes
	q.bytes += i.bytes()
	q.held += gained
	q.peak = max(q.peak, q.held)
	if q.routes >= max(q.limit, 2*q.peak) || q.bytes >= q.most {
		q.compact()
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Wake returns a channel that signals that there is something to take.
func (q *Queue) Wake() <-chan struct{} { return q.wake }

// OnWritten calls done with true once everything that is in the queue now is written, or with false if it never will be.
func (q *Queue) OnWritten(done func(ok bool)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		done(false)
	case q.written == q.appended:
		done(true)
	default:
		q.waiting = append(q.waiting, waiter{q.appended, done})
	}
}

// AfterWritten calls done as OnWritten does if something is still to be written. Otherwise it returns false and does not
// call done.
func (q *Queue) AfterWritten(done func(ok bool)) (waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.written == q.appended {
		return false
	}
	q.waiting = append(q.waiting, waiter{q.appended, done})
	return true
}

// Close drops everything; nothing can be appended any more. complete reports whether everything had been written.
func (q *Queue) Close() (complete bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	complete = q.written == q.appended
	q.closed = true
	q.items, q.routes, q.bytes = nil, 0, 0
	for _, w := range q.waiting {
		w.done(false)
	}
	q.waiting = nil
	return complete
}

// Backlog returns the number of routes that wait.
func (q *Queue) Backlog() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.routes
}

// Taken is a part of a queue that is being written.
type Taken struct {
	Buffers              net.Buffers
	Announced, Withdrawn int         // routes
	Messages             int         // UPDATE messages
	Skipped              []string    // routes that do not fit into a message
	encodings            []*encoding // of Buffers; keeps them in memory until they are written
	upTo                 uint64
	when                 time.Time
}

// takeRoutes bounds how much is taken at once, so that routes superseded later can still be dropped.
const takeRoutes = 2048

// Take takes and encodes the next entries; ok is false if there are none.
func (q *Queue) Take(extended bool) (t Taken, ok bool) {
	q.mu.Lock()
	n, routes := 0, 0
	for n < len(q.items) && (n == 0 || routes < takeRoutes) {
		if b := q.items[n].batch; b != nil {
			routes += len(b.NLRIs)
		}
		n++
	}
	items := q.items[:n:n]
	q.items = q.items[n:]
	if n > 0 {
		t.when = items[n-1].when
		q.taken = t.when
	}
	t.upTo = q.appended
	q.routes -= routes
	for _, i := range items {
		q.bytes -= i.bytes()
	}
	if len(q.items) == 0 {
		q.items, q.limit, q.most, q.peak = nil, compactAt, compactBytes, q.held
	} else {
		t.upTo = q.items[0].at - 1
	}
	q.mu.Unlock()
	for _, i := range items {
		t.add(i, q.Kind, extended)
	}
	clear(items) // the array stays in memory until the queue is empty
	return t, n > 0
}

func (t *Taken) add(i item, k wire.Kind, extended bool) {
	if i.batch == nil {
		t.Buffers = append(t.Buffers, i.message)
		return
	}
	e := i.batch.messages(k, len(i.targets)/8, extended)
	t.encodings = append(t.encodings, e)
	messages, skipped := e.messages, e.skipped
	routes := len(i.batch.NLRIs) - len(skipped)
	t.Messages += len(messages)
	if i.batch.Attributes == nil {
		t.Withdrawn += routes
	} else {
		t.Announced += routes
		t.Skipped = append(t.Skipped, skipped...)
	}
	targets := []byte(i.targets)
	for _, m := range messages {
		t.Buffers = append(t.Buffers, m)
		if len(targets) > 0 {
			t.Buffers = append(t.Buffers, targets)
		}
	}
}

// Written records that taken entries were handed to the kernel.
func (q *Queue) Written(t Taken) {
	q.mu.Lock()
	q.written = t.upTo
	if len(q.flushes) >= 2*flushMemory {
		q.flushes = append([]flush(nil), q.flushes[flushMemory:]...)
	}
	q.flushes = append(q.flushes, flush{t.when, time.Now()})
	q.mark()
	var done []waiter
	for len(q.waiting) > 0 && q.waiting[0].upTo <= q.written {
		done = append(done, q.waiting[0])
		q.waiting = q.waiting[1:]
	}
	q.mu.Unlock()
	for _, w := range done {
		w.done(true)
	}
}

// WrittenAt returns when an entry that was appended at a time, or right after it, was written. For times long past it
// returns the time itself. ok is false if the entry is not written yet.
func (q *Queue) WrittenAt(appended time.Time) (written time.Time, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.flushes) > 0 && appended.Before(q.flushes[0].appended) && len(q.flushes) >= flushMemory {
		return appended, true
	}
	for _, f := range q.flushes {
		if !f.appended.Before(appended) {
			return f.written, true
		}
	}
	return appended, q.written == q.appended
}

// mark adds the last flush to the marks. It replaces the last mark if that is close to the one before.
func (q *Queue) mark() {
	last := q.flushes[len(q.flushes)-1]
	if n := len(q.marks); n >= 2 && q.marks[n-1].written.Sub(q.marks[n-2].written) < markEvery {
		q.marks[n-1] = last
		return
	}
	if len(q.marks) >= markMemory {
		q.marks = append(q.marks[:0], q.marks[markMemory/2:]...)
	}
	q.marks = append(q.marks, last)
}

// Lately returns which entries were written, or were being written, since a time: those appended after `after` and not
// later than upTo. A zero after stands for all.
func (q *Queue) Lately(since time.Time) (after, upTo time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range q.marks {
		if !m.written.Before(since) {
			break
		}
		after = m.appended
	}
	return after, q.taken
}

// Last returns when the queue was last written to the neighbour; zero: never.
func (q *Queue) Last() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.marks) == 0 {
		return time.Time{}
	}
	return q.marks[len(q.marks)-1].written
}

// identity identifies a route of any family.
type identity struct {
	family wire.Family
	nlri   string
}
