package session

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"weft/routeserver/durable"
)

// ParseTold reads a neighbour's address and TCP-MD5 password from the controller. Errors do not repeat the password.
func ParseTold(keys Keys, address, password string) error {
	words := strings.Fields(password)
	if len(words) != 1 || words[0] != password {
		return fmt.Errorf("a password is one word of 1 to %d bytes", maxSecret)
	}
	if wrong := keys.add([]string{address, "md5", password}); wrong != "" {
		return fmt.Errorf("%s", wrong)
	}
	return nil
}

// Tell replaces all of the controller's keys, which are in force beside those of the password file, as Rekey does. It
// first writes them to disk: after a crash the route server requires the previous keys or these.
func (s *Server) Tell(keys Keys) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if maps.EqualFunc(s.Told, keys, Protection.equal) {
		return nil
	}
	return s.rekey(merged(keys, s.filed), func() error {
		if s.ToldFile != "" {
			if err := durable.Replace(s.ToldFile, []byte(keys.lines()), 0o600); err != nil {
				return fmt.Errorf("the keys cannot be kept: %w", err)
			}
		}
		s.Told = keys
		return nil
	})
}

// Digest returns a digest of the keys from the controller, and their number. The keys are random numbers of 256 bits,
// so nobody can find them by trial.
func (s *Server) Digest() (digest string, neighbours int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := sha256.Sum256([]byte(s.Told.lines()))
	return hex.EncodeToString(sum[:]), len(s.Told)
}

// lines returns the passwords in the form that ReadKeys reads, sorted as text.
func (k Keys) lines() string {
	lines := []string{}
	for address, p := range k {
		lines = append(lines, line(address, p))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func line(address netip.Addr, p Protection) string {
	return address.String() + " md5 " + string(p.password) + "\n"
}
