package engine

import (
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
}

// NewLog makes an empty log.
func NewLog() *Log { return &Log{more: make(chan struct{})} }

// Add appends an event.
func (l *Log) Add(kind, peer, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
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
