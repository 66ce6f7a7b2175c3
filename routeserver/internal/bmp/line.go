package bmp

import (
	"bufio"
	"context"
	"net"
	"sync"
	"time"
)

// farewell is how long the last words may take.
const farewell = time.Second

// line is the way to a station. After an error nothing is written any more.
type line struct {
	station *Station
	conn    net.Conn
	w       *bufio.Writer
	scratch []byte
	err     error
	release func() bool // of the context

	mu     sync.Mutex
	ending bool
}

func newLine(ctx context.Context, s *Station, conn net.Conn) *line {
	l := &line{station: s, conn: conn}
	l.w = bufio.NewWriterSize(l, 64<<10)
	l.release = context.AfterFunc(ctx, func() { // also when it is in the middle of a write
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ending = true
		_ = conn.SetWriteDeadline(time.Now().Add(farewell))
	})
	return l
}

// Write hands bytes to the kernel, for as long as the station may take nothing.
func (l *line) Write(p []byte) (int, error) {
	l.mu.Lock()
	if !l.ending {
		_ = l.conn.SetWriteDeadline(time.Now().Add(l.station.WriteTime))
	}
	l.mu.Unlock()
	n, err := l.conn.Write(p)
	l.station.mu.Lock()
	l.station.status.Bytes += uint64(n)
	l.station.mu.Unlock()
	return n, err
}

// write takes messages.
func (l *line) write(messages []byte) {
	if cap(messages) <= maxScratch {
		l.scratch = messages
	}
	if l.err != nil {
		return
	}
	_, l.err = l.w.Write(messages)
	count := uint64(0)
	for rest := messages; len(rest) > 0; count++ {
		rest = rest[length(rest):]
	}
	l.station.mu.Lock()
	l.station.status.Messages += count
	l.station.mu.Unlock()
}

// maxScratch is how much of a buffer is kept for the next messages.
const maxScratch = 64 << 10

func (l *line) flush() {
	if l.err == nil {
		l.err = l.w.Flush()
	}
}
