package session

import (
	"fmt"
	"unicode/utf8"

	"weft/routeserver/internal/wire"
)

// MaxText is the longest shutdown communication in bytes (RFC 9003).
const MaxText = 255

// CheckText returns an error if a text is not a valid shutdown communication.
func CheckText(text string) error {
	switch {
	case len(text) > MaxText:
		return fmt.Errorf("has %d bytes in UTF-8, more than %d (RFC 9003)", len(text), MaxText)
	case !utf8.ValidString(text):
		return fmt.Errorf("is not UTF-8")
	}
	return nil
}

// Reset ends a peer's connections with Cease / Administrative Reset and a text for the operators there, and returns the state
// before; idle or active: there was no connection. graceful says that both sides keep the other's routes meanwhile (RFC
// 8538). The peer may connect again at once, and we connect to it again if active.
func (s *Server) Reset(peer, text string) (was string, graceful bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot := s.slots[peer]
	if slot == nil {
		return Active, false
	}
	was = slot.state().State
	slot.forgive()
	if progress[was] <= progress[Active] {
		return was, false
	}
	slot.each(func(c *connection) { graceful = graceful || c.now() == Established && c.soft() })
	s.log.Info("a session is reset", "peer", peer, "text", text)
	s.engine.Events.Add("reset", peer, fmt.Sprintf("the session with %s is reset by an operator: %q", peer, text))
	slot.closeUnless(func(*connection) bool { return false }, wire.Shutdown(wire.AdminReset, text))
	return was, graceful
}
