// Package line is the connection between the two ends of a move: frames over TLS 1.3 over (MP)TCP, a greeting in which
// the ends agree on what they have in common, and how much may be on its way.
package line

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"weft/agents/transfer/internal/codec"
)

// Kind says what a frame carries.
type Kind byte

// The kinds of frames.
const (
	Greeting Kind = 'G' // JSON, the first frame of each end
	Refusal  Kind = 'F' // the reason as text, the last frame of an end
	Batch    Kind = 'B' // source: a batch (codec)
	Again    Kind = 'A' // source: the batch that was Wrong, alone
	End      Kind = 'E' // source: QEMU has closed the stream
	Ack      Kind = 'K' // destination: its QEMU has the oldest batch that has no answer
	Wrong    Kind = 'W' // destination: the oldest batch that has no answer gives other bytes
	Return   Kind = 'R' // destination: bytes of QEMU's return path
	Closed   Kind = 'C' // destination: its QEMU has closed the return path
	Done     Kind = 'D' // destination: its QEMU has all of the stream
	Alive    Kind = 'L' // this end has nothing else to say
)

const (
	header       = 5 // kind, and length as 4 bytes, big endian
	mostGreeting = 1 << 16
	mostReturn   = 1 << 16
	mostBatch    = 2*codec.MostStream + 2<<20
)

// Frame is one message.
type Frame struct {
	Kind  Kind
	Bytes []byte
}

// ErrRefused says that the other end has ended the session, and why.
var ErrRefused = errors.New("the other end refuses")

// Line is a connection. Several goroutines may write, one may read.
type Line struct {
	conn  net.Conn
	in    *bufio.Reader
	mu    sync.Mutex
	lives atomic.Bool // both ends say at least each second that they are there

	refused atomic.Pointer[error] // by this end, which reads no frame any more
}

// New returns a line over a connection.
func New(conn net.Conn) *Line {
	l := &Line{conn: conn}
	l.in = bufio.NewReaderSize(listener{l}, 1<<16)
	return l
}

// Close ends the connection: both ends get errors.
func (l *Line) Close() error { return l.conn.Close() }

// Write sends a frame. When this end has refused the session, its own reason is the error.
func (l *Line) Write(kind Kind, bytes []byte) error { return l.why(l.write(kind, bytes)) }

func (l *Line) write(kind Kind, bytes []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	head := append(make([]byte, 0, header), byte(kind))
	head = binary.BigEndian.AppendUint32(head, uint32(len(bytes)))
	if len(bytes) < 1<<10 {
		head, bytes = append(head, bytes...), nil
	}
	if _, err := l.conn.Write(head); err != nil {
		return err
	}
	if len(bytes) == 0 {
		return nil
	}
	_, err := l.conn.Write(bytes)
	return err
}

// Read returns the next frame, whose bytes are the caller's. The other end's refusal is an error (ErrRefused), and so is
// this end's own reason.
func (l *Line) Read() (Frame, error) {
	for {
		if frame, err := l.next(); err != nil || frame.Kind != Alive {
			return frame, l.why(err)
		}
	}
}

// why returns the reason for which this end has ended the session in place of the error that follows from that.
func (l *Line) why(err error) error {
	if reason := l.refused.Load(); err != nil && reason != nil {
		return *reason
	}
	return err
}

func (l *Line) next() (Frame, error) {
	var head [header]byte
	if _, err := io.ReadFull(l.in, head[:]); err != nil {
		return Frame{}, err
	}
	frame, size := Frame{Kind: Kind(head[0])}, binary.BigEndian.Uint32(head[1:])
	if most := most(frame.Kind); size > most {
		return Frame{}, fmt.Errorf("a frame %q of %d bytes; it may have %d", frame.Kind, size, most)
	}
	frame.Bytes = make([]byte, size)
	if _, err := io.ReadFull(l.in, frame.Bytes); err != nil {
		return Frame{}, fmt.Errorf("a frame %q that ends too early: %w", frame.Kind, err)
	}
	if frame.Kind == Refusal {
		return Frame{}, fmt.Errorf("%w: %.500q", ErrRefused, frame.Bytes)
	}
	return frame, nil
}

// most returns how many bytes a frame of a kind may have.
func most(kind Kind) uint32 {
	switch kind {
	case Greeting:
		return mostGreeting
	case Refusal, Return:
		return mostReturn
	case Batch, Again:
		return mostBatch
	default:
		return 0
	}
}
