package ends

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"weft/agents/transfer/internal/codec"
	"weft/agents/transfer/internal/line"
)

// Destination is the end beside the QEMU that waits for a machine. QEMU gets the bytes of a batch only when its digest
// agrees.
type Destination struct {
	line    *line.Line
	decoder *codec.Decoder
	report  *Report
	serves  bool // QEMU may close its connection when it likes
	ended   atomic.Bool
	wrong   bool // the oldest batch was, and comes again
}

// linger is how long QEMU may still say something when it has all of the stream. It does not close its socket then.
const linger = time.Second

// NewDestination returns the end of a line on which both ends have greeted each other. With `serves`, QEMU is a server
// that closes its connection when it likes: the source's QEMU learns of that, and what it still sends has no effect.
func NewDestination(over *line.Line, decoder *codec.Decoder, serves bool, report *Report) *Destination {
	return &Destination{line: over, decoder: decoder, serves: serves, report: report}
}

// halfCloser is a connection of which one direction can be closed.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// Run passes the stream to a QEMU, and its return path back, until all of the stream has passed. If it returns an
// error, both connections are closed, and QEMU gives up.
func (d *Destination) Run(ctx context.Context, qemu halfCloser) error {
	group, ctx := errgroup.WithContext(ctx)
	frames := make(chan line.Frame)
	stop := context.AfterFunc(ctx, func() {
		_ = qemu.Close()
		_ = d.line.Close()
	})
	defer stop()
	group.Go(func() error { return d.read(ctx, frames) })
	group.Go(func() error {
		err := guarded(func() error { return d.decode(frames, qemu) })()
		var file *lost
		if errors.As(err, &file) {
			return d.line.Refuse(err.Error()) // the source's agent has to tell why
		}
		return err
	})
	group.Go(func() error { return d.back(qemu) })
	return group.Wait()
}

// read reads on while a batch is decoded, as the line would wait otherwise.
func (d *Destination) read(ctx context.Context, frames chan<- line.Frame) error {
	defer close(frames)
	for {
		frame, err := d.line.Read()
		if err != nil {
			return fmt.Errorf("the line to the other end: %w", err)
		}
		select {
		case frames <- frame:
		case <-ctx.Done():
			return ctx.Err()
		}
		if frame.Kind == line.End {
			return nil
		}
	}
}

// mostBehind is how many bytes of batches wait for one that comes again. An honest source's window is smaller.
const mostBehind = 256 << 20

// decode passes the stream on. While a wrong batch comes again, those behind it wait.
func (d *Destination) decode(frames <-chan line.Frame, qemu halfCloser) error {
	var behind []line.Frame
	waiting := 0
	for frame := range frames {
		if d.wrong && frame.Kind != line.Again {
			behind = append(behind, frame)
			if waiting += len(frame.Bytes); waiting > mostBehind {
				return d.line.Refuse(fmt.Sprintf("more than %d bytes of batches behind one that has not come again", mostBehind))
			}
			continue
		}
		if err := d.take(frame, qemu); err != nil {
			return err
		}
		for len(behind) > 0 && !d.wrong {
			frame, behind = behind[0], behind[1:]
			waiting -= len(frame.Bytes)
			if err := d.take(frame, qemu); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *Destination) take(frame line.Frame, qemu halfCloser) error {
	again := frame.Kind == line.Again
	switch {
	case frame.Kind == line.End:
		d.ended.Store(true)
		if err := errors.Join(qemu.CloseWrite(), qemu.SetReadDeadline(time.Now().Add(linger))); err != nil && !d.left(err) {
			return fmt.Errorf("QEMU's socket: %w", err)
		}
		return d.line.Write(line.Done, nil)
	case frame.Kind != line.Batch && (!again || !d.wrong):
		return fmt.Errorf("the other end sends a frame %q", frame.Kind)
	}
	out, counts, err := d.decoder.Decode(frame.Bytes)
	if errors.Is(err, codec.ErrDigest) && !again {
		d.wrong = true
		d.report.change(func(s *Status) { s.Wrong++ })
		return d.line.Write(line.Wrong, nil)
	}
	if err != nil {
		return d.line.Refuse(err.Error())
	}
	d.wrong = false
	if _, err := qemu.Write(out); err != nil && !d.left(err) {
		return fmt.Errorf("QEMU does not take the stream: %w", err)
	}
	d.report.decoded(counts, len(out), len(frame.Bytes))
	return d.line.Write(line.Ack, nil)
}

// left reports whether an error only says that a server has closed its connection.
func (d *Destination) left(err error) bool {
	return d.serves && (errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.ENOTCONN))
}

// back passes QEMU's return path to the source, until QEMU closes it.
func (d *Destination) back(qemu io.Reader) error {
	buffer := make([]byte, 1<<14)
	for {
		n, err := qemu.Read(buffer)
		if n > 0 {
			if err := d.say(line.Return, buffer[:n]); err != nil {
				return err
			}
		}
		if err != nil && d.ended.Load() {
			return nil
		}
		if err != nil { // it has all that it wants, or has died: the source's QEMU finds out which
			return d.say(line.Closed, nil)
		}
	}
}

// say tells the source of its QEMU's return path. A source that has gone as it has all, and knows it, misses nothing.
func (d *Destination) say(kind line.Kind, bytes []byte) error {
	if err := d.line.Write(kind, bytes); err != nil && !d.ended.Load() {
		return fmt.Errorf("the line to the other end: %w", err)
	}
	return nil
}
