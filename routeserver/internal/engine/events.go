package engine

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// logSize is how many events are kept at least, and eventText how many bytes of an event's text.
const logSize, eventText = 1000, 1000

// flapsTold is how many of a peer's session events are logged one by one before they are gathered as in AddOften.
const flapsTold = 5

// Event is something that operators want to know. Seq grows by one with each event.
type Event struct {
	Seq  uint64    `json:"seq"`
	At   time.Time `json:"at"`
	Kind string    `json:"kind"`
	Peer string    `json:"peer,omitempty"`
	Text string    `json:"text"`
}

// Log keeps the last events and wakes those who wait for the next one. Each peer, and the route server itself, has a share
// of the log; events of others do not push its share out (see fair).
type Log struct {
	mu     sync.Mutex
	events []Event
	seq    uint64
	more   chan struct{}
	hushed map[hush]*repeats
}

// quiet is how long repeated events of a peer are gathered into one.
var quiet = 10 * time.Second

// hush identifies events that are gathered for a while: their kind, peer and reason.
type hush struct{ kind, peer, reason string }

// repeats counts gathered events and keeps the text of the last one.
type repeats struct {
	told  int // events that were logged one by one
	times int
	text  string
}

// NewLog makes an empty log.
func NewLog() *Log { return &Log{more: make(chan struct{}), hushed: map[hush]*repeats{}} }

// AddOften is Add for an event that a peer can cause with every message. It logs the first event at once, and those of the
// next interval as one event at its end. So a peer that misbehaves does not push out its own earlier events.
func (l *Log) AddOften(kind, peer, reason, text string) { l.addAfter(1, kind, peer, reason, text) }

// addAfter is AddOften that logs the given number of events at once.
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

// resume logs the gathered events and begins another interval. If there are none, it ends the gathering.
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

// clipped bounds a text that repeats what a peer has sent, such as the route targets of a route.
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

// After returns the events after a sequence number that are still kept, and a channel that is closed at the next event.
func (l *Log) After(seq uint64) ([]Event, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seq > l.seq {
		seq = 0 // the number is from before a restart
	}
	first := len(l.events)
	for first > 0 && l.events[first-1].Seq > seq {
		first--
	}
	return append([]Event(nil), l.events[first:]...), l.more
}
