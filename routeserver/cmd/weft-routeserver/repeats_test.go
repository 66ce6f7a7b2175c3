package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestALogIsNobodysAlone checks that a number of lines of one kind is written for each source, and that more are
// counted.
func TestALogIsNobodysAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		log := slog.New(bounded(slog.NewTextHandler(&text, nil)))
		written := func() int { defer text.Reset(); return strings.Count(text.String(), "\n") }
		for i := range 10_000 {
			log.Info("session ended", "peer", "pe1", "number", i)
		}
		if got := written(); got != ofSource {
			t.Errorf("%d lines of one source, not %d", got, ofSource)
		}
		log.Info("session ended", "peer", "pe2")
		log.Info("another kind", "peer", "pe1")
		if got := written(); got != 2 {
			t.Errorf("%d lines of another source and of another kind, not 2", got)
		}
		for i := range 10_000 {
			log.With("server", "rs1").Info("session ended", "peer", fmt.Sprint("made up ", i))
		}
		if got := written(); got != ofKind-ofSource-1 {
			t.Errorf("%d lines of sources that are made up, not %d", got, ofKind-ofSource-1)
		}
		time.Sleep(window)
		log.Info("session ended", "peer", "pe1")
		said := text.String()
		if want := fmt.Sprint("number=", 20_000-ofKind+1); !strings.Contains(said, want) || written() != 2 {
			t.Errorf("no %q in %q", want, said)
		}
	})
}
