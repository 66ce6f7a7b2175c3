package session

import (
	"errors"
	"time"

	"weft/routeserver/internal/wire"
)

// maxIdle is the longest wait of a peer, and the duration from which a session counts as good.
const maxIdle = time.Minute

// damping limits the work that a peer with repeated errors causes: each error in a row doubles the time before it may
// have another connection (RFC 4271 section 8.1.1, DampPeerOscillations).
type damping struct {
	errors int
	until  time.Time
}

// after records why a connection ended, and for how long it was established. first is the wait after one error; 0:
// there is no wait.
func (d *damping) after(why error, lasted, first time.Duration) {
	if lasted >= maxIdle {
		d.errors = 0
	}
	if first > 0 && faulty(why) {
		d.until = time.Now().Add(min(first<<min(d.errors, 16), maxIdle))
		d.errors++
	}
}

// idle reports whether the peer has to wait.
func (d *damping) idle() bool { return time.Now().Before(d.until) }

// faulty reports whether a connection ended because of a message from the peer.
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
