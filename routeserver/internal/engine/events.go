package engine

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// logSize is how many events are kept, and eventText how many bytes of the text of one.
const logSize, eventText = 1000, 1000

// flapsTold is how many of a peer's sessions are told of one by one before they are gathered as in AddOften.
const flapsTold = 5

// Event is something that operators want to know. Seq grows by one with each.
type Event struct {
	Seq  uint64    `json:"seq"`
	At   time.Time `json:"at"`
	Kind string    `json:"kind"`
	Peer string    `json:"peer,omitempty"`
	Text string    `json:"text"`
}

// Log keeps the last events and wakes those who wait for the next. Each peer, and the route server itself, has a share of
// it that no other's events push out (see fair).
type Log struct {
	mu     sync.Mutex
	events []Event
	seq    uint64
	more   chan struct{}
	hushed map[hush]*repeats
}

// quiet is how long what a peer does again and again is gathered into one event.
var quiet = 10 * time.Second

// hush is what is not told of again for a while: a kind of event, of one peer, for one reason.
type hush struct{ kind, peer, reason string }

// repeats are what was not told of, and the last of them.
type repeats struct {
	told  int // one by one
	times int
	text  string
}

// NewLog makes an empty log.
func NewLog() *Log { return &Log{more: make(chan struct{}), hushed: map[hush]*repeats{}} }

// AddOften is Add for what a peer can bring about with every message: the first is told of at once, those of the next
// while in one event at its end. So a peer that misbehaves does not push out what it did before.
func (l *Log) AddOften(kind, peer, reason, text string) { l.addAfter(1, kind, peer, reason, text) }

// addAfter is AddOften with so many told of at once.
func (l *Log) addAfter(told int, kind, peer, reason, text string) {
	h := hush{kind, peer, reason}
	text = clipped(text)
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.hushed[h]
	if r == nil {
		r = &repeats{}
		l.hushed[h] = r
		time.AfterFunc(quiet, func() { l.resume(h) })
	}
	if r.told < told {
		r.told++
		l.add(kind, peer, text)
		return
	}
	r.times, r.text = r.times+1, text
}

// resume tells of what was not told of, and begins another while, or is done with it.
func (l *Log) resume(h hush) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.hushed[h]
	if r.times == 0 {
		delete(l.hushed, h)
		return
	}
	text := r.text
	if r.times > 1 {
		text = fmt.Sprintf("%s; and %d more like this within %s", text, r.times-1, quiet)
	}
	l.add(h.kind, h.peer, text)
	l.hushed[h] = &repeats{told: r.told}
	time.AfterFunc(quiet, func() { l.resume(h) })
}

// Add appends an event.
func (l *Log) Add(kind, peer, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(kind, peer, clipped(text))
}

// clipped bounds a text that repeats what a peer has said, such as the route targets of a route.
func clipped(text string) string {
	if len(text) <= eventText {
		return text
	}
	return strings.ToValidUTF8(text[:eventText], "") + "…"
}

func (l *Log) add(kind, peer, text string) {
	l.seq++
	if len(l.events) >= 2*logSize {
		l.events = fair(l.events, func(e Event) string { return e.Peer }, logSize)
	}
	l.events = append(l.events, Event{l.seq, time.Now().UTC(), kind, peer, text})
	close(l.more)
	l.more = make(chan struct{})
}

// After gives the events after a sequence number that are still there, and a channel that is closed at the next one.
func (l *Log) After(seq uint64) ([]Event, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seq > l.seq {
		seq = 0 // from before a restart
	}
	first := len(l.events)
	for first > 0 && l.events[first-1].Seq > seq {
		first--
	}
	return append([]Event(nil), l.events[first:]...), l.more
}
