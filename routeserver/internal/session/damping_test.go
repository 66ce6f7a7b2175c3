package session

import (
	"errors"
	"testing"
	"time"

	"weft/routeserver/internal/wire"
)

func TestDamping(t *testing.T) {
	fault := &wire.Notification{Code: wire.UpdateError}
	var d damping
	wait := func() time.Duration { return time.Until(d.until).Round(time.Second) }
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		if d.after(fault, 0, time.Second); wait() != want*time.Second || !d.idle() {
			t.Errorf("waits %s, not %d s", wait(), want)
		}
	}
	if d.after(fault, time.Hour, time.Second); wait() != time.Second {
		t.Errorf("after an hour without an error it waits %s", wait())
	}
	d = damping{}
	for _, why := range []error{
		errors.New("the peer closed the connection"),
		&wire.Notification{Code: wire.UpdateError, Received: true},
		&wire.Notification{Code: wire.HoldTimerExpired},
		wire.Shutdown(wire.Collision, ""),
	} {
		if d.after(why, 0, time.Second); d.idle() {
			t.Errorf("waits after %v", why)
		}
	}
	if d.after(fault, 0, 0); d.idle() {
		t.Error("waits though it is not to")
	}
	if d.after(&wire.Notification{Code: wire.Cease, Subcode: wire.MaxPrefixes}, 0, time.Second); !d.idle() {
		t.Error("does not wait after too many routes")
	}
}
