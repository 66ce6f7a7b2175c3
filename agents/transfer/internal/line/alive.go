package line

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	beat = time.Second
	// Silence is how long an end waits for the other one's next byte: longer than TCP needs after a cut of two seconds.
	Silence = 5 * time.Second
)

// Live says each second that this end is there, until the context ends. From now on Read fails after a Silence: TCP
// notices a cut only if it has something to send, and then after a quarter of an hour (RFC 1122, section 4.2.3.5). Both
// ends call it as soon as they have greeted each other.
func (l *Line) Live(ctx context.Context) {
	l.lives.Store(true)
	go func() {
		tick := time.NewTicker(beat)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if l.Write(Alive, nil) != nil {
					return // Read says why
				}
			}
		}
	}()
}

// listener reads from a line's connection.
type listener struct{ *Line }

func (l listener) Read(to []byte) (int, error) {
	if !l.lives.Load() {
		return l.conn.Read(to)
	}
	if err := l.conn.SetReadDeadline(time.Now().Add(Silence)); err != nil {
		return 0, err
	}
	n, err := l.conn.Read(to)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("nothing was heard for %v", Silence)
	}
	return n, err
}
