package main

import (
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"weft/routeserver/internal/session"
)

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) has(part string) func() bool {
	return func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return strings.Contains(l.text.String(), part)
	}
}

func TestHangupReadsThePasswordFileAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "passwords")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	log := &lines{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	sessions := session.New(session.Config{Listen: netip.MustParseAddrPort(free(t))}, nil, logger)
	rekey(t.Context(), file, sessions, logger)
	put("192.0.2.1 s3cret\n192.0.2.2 ao s3cret\n")
	until(t, "the mistake", log.has(file+":2: is of none of the forms"))
	if log.has("have been read")() {
		t.Error("a file with a mistake was taken")
	}
	put("192.0.2.1 s3cret\n")
	until(t, "the keys", log.has("changed=[192.0.2.1]"))
	put("192.0.2.1 s3cret\n192.0.2.2 another\n")
	until(t, "the new key", log.has("changed=[192.0.2.2]"))
	if log.has("s3cret")() {
		t.Error("the log has a secret")
	}
}
