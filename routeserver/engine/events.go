package engine

import (
	"fmt"
	"sync"
	"time"
)

// logSize is how many events are kept.
const logSize = 1000

// Event is something that operators want to know. Seq grows by one with each.
type Event struct {
	Seq  uint64    `json:"seq"`
	At   time.Time `json:"at"`
	Kind string    `json:"kind"`
	Peer string    `json:"peer,omitempty"`
	Text string    `json:"text"`
}

// Log keeps the last events and wakes those who wait for the next.
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
	times int
	text  string
}

// NewLog makes an empty log.
func NewLog() *Log { return &Log{more: make(chan struct{}), hushed: map[hush]*repeats{}} }

// AddOften is Add for what a peer can bring about with every message: the first is told of at once, those of the next
// while in one event at its end. So a peer that misbehaves does not push out what others have done.
func (l *Log) AddOften(kind, peer, reason, text string) {
	h := hush{kind, peer, reason}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.hushed[h]; r != nil {
		r.times, r.text = r.times+1, text
		return
	}
	l.hushed[h] = &repeats{}
	l.add(kind, peer, text)
	time.AfterFunc(quiet, func() { l.resume(h) })
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
	l.hushed[h] = &repeats{}
	time.AfterFunc(quiet, func() { l.resume(h) })
}

// Add appends an event.
func (l *Log) Add(kind, peer, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(kind, peer, text)
}

func (l *Log) add(kind, peer, text string) {
	l.seq++
	if len(l.events) >= 2*logSize {
		l.events = append([]Event(nil), l.events[logSize:]...)
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
