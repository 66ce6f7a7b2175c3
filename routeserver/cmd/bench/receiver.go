package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"weft/routeserver/internal/rawbgp"
)

// Receiver is all PEs and the count of routes that they still lack.
type Receiver struct {
	mu      sync.RWMutex // stages write; a PE's only reader changes its routes under the read lock
	pes     []*PE
	world   *World
	rtc     bool // PEs speak RFC 4684
	shared  bool // a route carries the route targets of its whole pool
	lost    int  // a PE that the daemon has given up; -1: none
	missing atomic.Int64
	checked atomic.Int64
	own     atomic.Int64

	state      sync.Mutex
	at         time.Time // time at which no route was missing any more
	done       chan struct{}
	broken     error
	wrong      int
	violations []string
}

func newReceiver(c Cell, rtc, shared bool) *Receiver {
	return &Receiver{pes: make([]*PE, c.PEs), world: newWorld(c), rtc: rtc, shared: shared, lost: -1, done: make(chan struct{}, 1)}
}

func (r *Receiver) reached() {
	r.state.Lock()
	r.at = time.Now()
	r.state.Unlock()
	r.wake()
}

func (r *Receiver) wake() {
	select {
	case r.done <- struct{}{}:
	default:
	}
}

func (r *Receiver) fail(err error) {
	r.state.Lock()
	if r.broken == nil {
		r.broken = err
	}
	r.state.Unlock()
	r.wake()
}

func (r *Receiver) violation(text string) {
	r.state.Lock()
	defer r.state.Unlock()
	if r.wrong++; len(r.violations) < 3 {
		r.violations = append(r.violations, text)
	}
}

// stage changes the world that the PEs should see. The state before it must have been reached.
func (r *Receiver) stage(change func(*World)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	copy(r.world.before, r.world.pool)
	change(r.world)
	var n int64
	for i := range r.pes {
		n += r.lacks(i)
	}
	select {
	case <-r.done:
	default:
	}
	r.missing.Store(n)
}

// settle waits until no route is missing and returns the time since the start. It looks again 5 ms later, so that a
// state that is right only for a moment does not count as success.
func (r *Receiver) settle(start time.Time, limit time.Duration) (time.Duration, error) {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for {
		select {
		case <-r.done:
		case <-timeout.C:
			return 0, fmt.Errorf("%d announcements and withdrawals are missing after %s", r.missing.Load(), limit)
		}
		time.Sleep(5 * time.Millisecond)
		r.state.Lock()
		at, broken := r.at, r.broken
		r.state.Unlock()
		if broken != nil {
			return 0, broken
		}
		if r.missing.Load() == 0 && at.After(start) {
			return at.Sub(start), nil
		}
	}
}

// audit recounts everything from the bitmaps.
func (r *Receiver) audit() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, p := range r.pes {
		if err := p.recount(); err != nil {
			return err
		}
		if n := r.lacks(i); n != 0 {
			return fmt.Errorf("PE %d has %d routes too few or too many at the end", i, n)
		}
	}
	r.state.Lock()
	defer r.state.Unlock()
	if r.wrong > 0 {
		return fmt.Errorf("%d wrong routes: %s", r.wrong, r.violations[0])
	}
	return r.broken
}

// drop ends PE i's session.
func (r *Receiver) drop(i int) {
	r.mu.Lock()
	p := r.pes[i]
	p.closing = true
	r.mu.Unlock()
	p.conn.Close()
}

// keepalives keeps all sessions up.
func (r *Receiver) keepalives() {
	for range time.Tick(40 * time.Second) {
		r.mu.RLock()
		for _, p := range r.pes {
			if p != nil {
				_, _ = p.conn.Write(rawbgp.Message(4, nil))
			}
		}
		r.mu.RUnlock()
	}
}
