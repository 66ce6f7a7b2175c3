package line

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestALineWithoutAnythingToSayLivesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other := pair(t)
		one.Live(t.Context())
		other.Live(t.Context())
		go func() { _, _ = one.Read() }()
		go func() {
			time.Sleep(time.Hour)
			_ = one.Write(Ack, nil)
		}()
		if frame, err := other.Read(); err != nil || frame.Kind != Ack {
			t.Fatal(frame, err)
		}
	})
}

func TestAnEndThatHearsNothingGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, _ := pair(t)
		began := time.Now()
		one.lives.Store(true)
		_, err := one.Read()
		if err == nil || !strings.Contains(err.Error(), "nothing was heard for 5s") || time.Since(began) != Silence {
			t.Fatalf("after %v: %v", time.Since(began), err)
		}
	})
}

func TestAnEndThatHearsAFramePieceByPieceWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other := pair(t)
		one.lives.Store(true)
		go func() {
			for _, piece := range []string{"R\x00", "\x00\x00\x05", "in ", "fi"} {
				time.Sleep(Silence - beat)
				_, _ = other.conn.Write([]byte(piece))
			}
		}()
		if frame, err := one.Read(); err != nil || string(frame.Bytes) != "in fi" {
			t.Fatal(frame, err)
		}
	})
}
