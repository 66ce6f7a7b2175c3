package session

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"weft/routeserver/internal/wire"
)

// The states of RFC 4271 section 8.2.2.
const (
	Idle        = "idle"
	Connect     = "connect"
	Active      = "active"
	OpenSent    = "opensent"
	OpenConfirm = "openconfirm"
	Established = "established"
)

// progress orders the states.
var progress = map[string]int{Idle: 0, Active: 1, Connect: 2, OpenSent: 3, OpenConfirm: 4, Established: 5}

// State is the state of a peer's session, as users see it.
type State struct {
	State      string
	Since      time.Time
	LastError  string
	ErrorClass string // of LastError, for counting
	Backlog    int    // routes that wait to be written
}

// slot holds the connections with one peer.
type slot struct {
	mu        sync.Mutex
	conns     []*connection
	since     time.Time
	lastError error
	damping   damping
	pace      *rate.Limiter // of the peer's connections
}

// newSlot makes a slot for a peer that may open so many connections per second, and ten times that at once; 0: any number.
func newSlot(perSecond float64) *slot {
	pace := rate.NewLimiter(rate.Inf, 0)
	if perSecond > 0 {
		pace = rate.NewLimiter(rate.Limit(perSecond), max(1, int(10*perSecond)))
	}
	return &slot{since: time.Now(), pace: pace}
}

func (s *slot) add(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, c)
	if len(s.conns) <= maxConnections {
		return
	}
	for _, oldest := range s.conns { // of those without an OPEN
		if oldest.now() == OpenSent && !oldest.stopped() {
			oldest.stop(&wire.Notification{Code: wire.Cease, Subcode: wire.Rejected, Text: "the peer has opened too many connections"})
			return
		}
	}
}

func (s *slot) remove(c *connection, why error) {
	lasted := c.lasted()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.conns {
		if s.conns[i] == c {
			s.conns = append(s.conns[:i:i], s.conns[i+1:]...)
			break
		}
	}
	s.lastError = why
	s.damping.after(why, lasted, c.server.IdleHold)
	if c.now() == Established {
		s.since = time.Now()
	}
}

func (s *slot) each(do func(*connection)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		do(c)
	}
}

func (s *slot) closeUnless(keep func(*connection) bool, n *wire.Notification) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		if !keep(c) {
			c.stop(n)
		}
	}
}

// busy reports whether a connection is under way or established.
func (s *slot) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns) > 0
}

// idle reports whether the peer may have no connection for now.
func (s *slot) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.damping.idle()
}

// forgive lets the peer connect at once: the rule set may have been the cause of its errors.
func (s *slot) forgive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.damping = damping{}
}

// confirm decides, when a connection has received an OPEN, whether it may go on (RFC 4271 section 6.8). It stops
// connections that lose against it. ours says that, of two, the one that we opened is kept. old is a session that the
// connection replaces, once that is over.
func (s *slot) confirm(c *connection, ours bool) (old *connection, refused *wire.Notification) {
	lost := wire.Shutdown(wire.Collision, "another connection is kept")
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range s.conns {
		if other == c || other.stopped() {
			continue
		}
		switch other.now() {
		case Established:
			if !other.replaceable(c) {
				return nil, lost
			}
			other.stop(errReplaced)
			old = other
		case OpenConfirm:
			if other.outgoing == c.outgoing {
				other.stop(lost) // the peer has opened a new one, and will not go on with the old
				continue
			}
			if c.outgoing != ours {
				return nil, lost
			}
			other.stop(lost)
		}
	}
	c.enter(OpenConfirm)
	return old, nil
}

// establish makes a connection the session, unless another one became it in the meantime.
func (s *slot) establish(c *connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range s.conns {
		if other != c && other.now() == Established {
			return false
		}
	}
	c.enter(Established)
	s.since = time.Now()
	return true
}

func (s *slot) state() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := State{State: Active, Since: s.since}
	if s.damping.idle() {
		st.State = Idle
	}
	if s.lastError != nil {
		st.LastError, st.ErrorClass = s.lastError.Error(), wire.ErrorClass(s.lastError)
	}
	for _, c := range s.conns {
		if now := c.now(); progress[now] > progress[st.State] {
			st.State = now
		}
		if p := c.attached(); p != nil {
			st.Backlog = p.Queue.Backlog()
		}
	}
	return st
}
