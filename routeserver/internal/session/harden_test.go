package session

import (
	"testing"

	"weft/routeserver/internal/wire"
)

// TestHarden checks the NOTIFICATION that we send to a peer that supports hard resets, and to one that does not.
func TestHarden(t *testing.T) {
	for _, c := range []struct {
		why       *wire.Notification
		soft, cut bool
		hard      bool
	}{
		{outgrown(), true, false, false},
		{outgrown(), true, true, true}, // with an unsent withdrawal
		{outgrown(), false, true, false},
		{wire.Shutdown(wire.Deconfigured, ""), true, false, true},
		{wire.Shutdown(wire.Deconfigured, ""), false, false, false},
		{&wire.Notification{Code: wire.Cease, Subcode: wire.MaxPrefixes}, true, false, true},
		{&wire.Notification{Code: wire.UpdateError, Subcode: wire.MalformedList}, true, false, false},
		{&wire.Notification{Code: wire.Cease, Subcode: wire.AdminShutdown, Received: true}, true, true, false},
	} {
		open := &wire.Open{Restart: wire.Restart{Notification: c.soft}}
		connection := &connection{server: &Server{Config: Config{RestartTime: 1}}, remote: open, cut: c.cut}
		if n := connection.harden(c.why); n.Hard != c.hard {
			t.Errorf("%v, soft %v, cut %v: hard %v", c.why, c.soft, c.cut, n.Hard)
		}
	}
}
