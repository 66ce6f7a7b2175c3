package bmp

import (
	"bufio"
	"context"
	"net"
	"sync"
	"time"
)

// farewell is the time for the last messages.
const farewell = time.Second

// line is the connection to a station. After an error it writes nothing more.
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
	l.release = context.AfterFunc(ctx, func() { // also during a write
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ending = true
		_ = conn.SetWriteDeadline(time.Now().Add(farewell))
	})
	return l
}

// Write passes bytes to the kernel. It fails if the station takes nothing for WriteTime.
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

// write writes and counts messages.
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

// maxScratch is the largest buffer that is kept for the next messages.
const maxScratch = 64 << 10

func (l *line) flush() {
	if l.err == nil {
		l.err = l.w.Flush()
	}
}
