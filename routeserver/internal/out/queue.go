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
	targets string // for announcements: the recipient's route targets
	known   bool   // the neighbour had these routes before this entry
	message []byte // instead of a batch
	at      uint64 // position: how many were appended up to and with this one
	when    time.Time
}

// bytes is what an item keeps in memory by itself.
func (i *item) bytes() int {
	if i.batch == nil {
		return len(i.message)
	}
	return i.batch.bytes
}

// compactAt is the number of routes in a queue from which on it is worth looking for superseded ones, unless the
// neighbour has so many that there are likely none. compactBytes is the same for what their attributes and NLRIs take, in
// bytes: a few routes may have attributes of 64 KB each, and change them again and again.
const (
	compactAt    = 4096
	compactBytes = 8 << 20
)

// Queue holds what a neighbour has not been sent yet. Entries are appended; when they pile up, superseded ones are
// dropped, so that a queue never holds more than about twice the routes that the neighbour has plus those it should have.
type Queue struct {
	Kind wire.Kind // of the neighbour; does not change once something was taken

	mu       sync.Mutex
	items    []item
	routes   int    // in items
	limit    int    // of routes, when to compact next
	bytes    int    // that the items keep in memory, at most
	most     int    // of bytes, when to compact next
	held     int    // routes that the neighbour has once all of this is written
	peak     int    // the most of that since the queue was empty
	appended uint64 // entries ever appended
	written  uint64 // of those, how many the kernel has
	closed   bool
	waiting  []waiter
	wake     chan struct{}
	flushes  []flush // the last ones, oldest first
	marks    []flush // some of them, over a longer time
	taken    time.Time
}

// flush says that everything appended up to a time was written at another.
type flush struct{ appended, written time.Time }

// flushMemory is how many flushes are remembered.
const flushMemory = 256

// marks are markEvery apart, so that they reach back for half a minute, however much is written.
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

// Announce appends announcements; known says that the neighbour has these routes already, in another form.
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

// Wake is signalled when there is something to take.
func (q *Queue) Wake() <-chan struct{} { return q.wake }

// OnWritten calls done once everything that is in the queue now is written (true) or never will be (false).
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

// AfterWritten calls done as OnWritten does, if something is still to be written; else it says that nothing waits, and does
// not call it.
func (q *Queue) AfterWritten(done func(ok bool)) (waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.written == q.appended {
		return false
	}
	q.waiting = append(q.waiting, waiter{q.appended, done})
	return true
}

// Close drops everything; nothing can be appended any more. It says whether everything had been written.
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

// Backlog is the number of routes that wait.
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
	encodings            []*encoding // of Buffers, until they are written
	upTo                 uint64
	when                 time.Time
}

// takeRoutes bounds how much is taken at once, so that what is superseded later can still be dropped.
const takeRoutes = 2048

// Take takes the next entries, encoded; ok is false if there are none.
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
	clear(items) // the queue's memory lasts until it is empty
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

// Written says that what was taken has been handed to the kernel.
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

// WrittenAt says when something that was appended at a time, or right after it, was written. For what is long past it
// gives the time itself. ok is false if it was not written yet.
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

// mark keeps the last flush, in the place of the one before if that is close to its own predecessor.
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

// Lately says what was written since a time, or begun to be: what was appended later than after, and not later than upTo.
// The zero after stands for all.
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

// Last is when the last of what is written was written; zero: nothing is.
func (q *Queue) Last() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.marks) == 0 {
		return time.Time{}
	}
	return q.marks[len(q.marks)-1].written
}

// identity tells routes of all families apart.
type identity struct {
	family wire.Family
	nlri   string
}
