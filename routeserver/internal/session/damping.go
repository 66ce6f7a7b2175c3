package session

import (
	"errors"
	"time"

	"weft/routeserver/internal/wire"
)

// maxIdle is the longest time for which a peer is not taken back, and a session that lasted so long was a good one.
const maxIdle = time.Minute

// damping keeps a peer that goes from one error to the next from making work without end: each error in a row makes it
// wait twice as long before it may have another connection (RFC 4271 section 8.1.1, DampPeerOscillations).
type damping struct {
	errors int
	until  time.Time
}

// after takes in why a connection ended that was established for some time, or never. first is the wait after one error;
// 0: there is none.
func (d *damping) after(why error, lasted, first time.Duration) {
	if lasted >= maxIdle {
		d.errors = 0
	}
	if first > 0 && faulty(why) {
		d.until = time.Now().Add(min(first<<min(d.errors, 16), maxIdle))
		d.errors++
	}
}

// idle says whether the peer has to wait.
func (d *damping) idle() bool { return time.Now().Before(d.until) }

// faulty says whether a connection ended because of what the peer sent.
func faulty(why error) bool {
	n := (*wire.Notification)(nil)
	if !errors.As(why, &n) || n.Received {
		return false
	}
	switch n.Code {
	case wire.HeaderError, wire.OpenError, wire.UpdateError, wire.FSMError, wire.RefreshError:
		return true
	}
	return n.Code == wire.Cease && n.Subcode == wire.MaxPrefixes
}
