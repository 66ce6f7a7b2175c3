package line

import (
	"sync"
	"time"
)

// Window limits the bytes that are on their way, from the rate at which the other end takes them and the shortest time
// that one batch has taken (as BBR does for TCP). The window is short, as all that is on its way when the guest stops
// delays it; the kernel's buffers would take more.
type Window struct {
	mu      sync.Mutex
	room    *sync.Cond
	closed  bool
	flights []flight
	flying  int       // bytes on their way
	held    int       // bytes of the stream that they stand for, which this end keeps
	taken   int       // bytes that the other end has taken
	since   time.Time // when the last batch was taken
	went    time.Time // and when that one had gone
	rates   []sample  // bytes per second, of the last second in which the line was full
	rtt     time.Duration
	most    float64   // bytes per second that this end sends; 0 is no limit
	mark    mark      // the beginning of the present stretch
	swift   time.Time // when a stretch was fast the last time
}

// mark is a moment, and the bytes that the other end had taken then.
type mark struct {
	at    time.Time
	taken int
}

type flight struct {
	bytes, stream, taken int
	at, since, went      time.Time // when it went, when the last one before it was taken, and when that one had gone
	full                 bool      // with it, as much was on its way as may be
}

type sample struct {
	at   time.Time
	rate float64
}

const (
	mostHeld = 64 << 20
	smallest = 128 << 10 // bytes that may be on their way on any line
	recent   = time.Second
	headroom = 1.25 // of the round trip, so that the rate can grow
	queue    = 0.1  // seconds of the line's rate, beyond that

	stretch = 2 << 20 // bytes that show how fast a line is: a bucket of tokens passes less at once
	fast    = 40e6    // bytes per second
	lasting = 5 * time.Second
)

// NewWindow returns a window of an idle line, over which this end sends at most so many bytes per second; 0 is no limit.
func NewWindow(most float64) *Window {
	w := &Window{most: most}
	w.room = sync.NewCond(&w.mu)
	return w
}

// Wait returns as soon as a batch of so many bytes, which stand for so many bytes of the stream, may go, and takes it as
// sent. One batch more than the limit may be on its way. Wait returns false when the window is closed.
func (w *Window) Wait(bytes, stream int, now func() time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.closed && w.flying > 0 && (w.flying >= w.limit() || w.held+stream > mostHeld) {
		w.room.Wait()
	}
	if w.closed {
		return false
	}
	at := now()
	if w.flying == 0 {
		w.since, w.went = at, at // the line was idle
		w.mark = mark{at, w.taken}
	}
	w.flying += bytes
	w.flights = append(w.flights, flight{bytes, stream, w.taken, at, w.since, w.went, w.flying >= w.limit()})
	w.held += stream
	return true
}

// Taken says that the other end has taken the oldest batch that is on its way. It returns false if none is.
func (w *Window) Taken(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.flights) == 0 {
		return false
	}
	f := w.flights[0]
	w.flights = w.flights[1:]
	w.flying -= f.bytes
	w.held -= f.stream
	w.taken += f.bytes
	if trip := now.Sub(f.at); w.rtt == 0 || trip < w.rtt {
		w.rtt = trip
	}
	// Answers may come in bursts, but no line carries more than it was given in the same time.
	if over := max(now.Sub(f.since), f.at.Sub(f.went)).Seconds(); over > 0 {
		w.measured(sample{now, float64(w.taken-f.taken) / over}, f.full)
	}
	w.since, w.went = now, f.at
	if passed := w.taken - w.mark.taken; passed >= stretch {
		if float64(passed) >= fast*now.Sub(w.mark.at).Seconds() {
			w.swift = now
		}
		w.mark = mark{now, w.taken}
	}
	w.room.Signal()
	return true
}

// Fast reports whether the other end has taken 40 MB a second of late, for as long as two of them needed. A sender that
// has less to send says nothing about that.
func (w *Window) Fast(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.swift.IsZero() && now.Sub(w.swift) < lasting
}

// measured takes a rate into account. A low one of a line that had less than it could carry says nothing about the line
// (as BBR judges samples that are limited by the application).
func (w *Window) measured(found sample, full bool) {
	if !full && found.rate < w.rate() {
		return
	}
	w.rates = append(w.rates, found)
	for len(w.rates) > 1 && found.at.Sub(w.rates[0].at) > recent {
		w.rates = w.rates[1:]
	}
}

// Close ends all waiting.
func (w *Window) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.room.Broadcast()
}

// Flying returns the bytes that are on their way.
func (w *Window) Flying() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flying
}

// Rate returns the bytes per second that the other end takes, the greatest of the last second in which it had as much to
// take as it could; 0 before it took any.
func (w *Window) Rate() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rate()
}

// RoundTrip returns the shortest time from a batch's departure to the answer.
func (w *Window) RoundTrip() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rtt
}

// WasFast reports whether the line was Fast at any time.
func (w *Window) WasFast() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.swift.IsZero()
}

func (w *Window) rate() float64 {
	most := 0.0
	for _, sample := range w.rates {
		most = max(most, sample.rate)
	}
	if w.most > 0 {
		return min(most, w.most)
	}
	return most
}

func (w *Window) limit() int {
	rate := w.rate()
	return max(smallest, int(rate*(headroom*w.rtt.Seconds()+queue)))
}
