package ends

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"weft/agents/transfer/internal/codec"
	"weft/agents/transfer/internal/line"
	"weft/agents/transfer/internal/pace"
	"weft/agents/transfer/internal/stream"
)

// Source is the end beside the QEMU that sends. Four stages work at once: the stream is read and encoded, workers
// compress batches, they go on the line in order, and the other end's answers are read.
type Source struct {
	// Sparing keeps further pages out of the mirror while the line is fast.
	Sparing bool

	line    *line.Line
	encoder *codec.Encoder
	pace    *pace.Pace
	window  *line.Window
	report  *Report
	limit   *rate.Limiter // nil: none
	workers int
	without codec.Techniques

	forget atomic.Bool // the encoder is to use nothing that was there before

	mu       sync.Mutex
	untaken  []*codec.Batch // on their way, the oldest first
	finished bool
}

// job is a batch that a worker compresses.
type job struct {
	batch  *codec.Batch
	packed chan []byte
}

const (
	mostLiterals = 256 << 10 // bytes of literals in a batch
	fewLiterals  = 32 << 10
	share        = 0.03 // seconds of the line's rate that a batch may take
)

// NewSource returns the end of a line on which both ends have greeted each other. At most `bandwidth` bits per second go
// over it; 0 is no limit but the line's. Techniques that the encoder leaves out, this end leaves out, too.
func NewSource(over *line.Line, encoder *codec.Encoder, workers int, bandwidth int64, report *Report) *Source {
	s := &Source{
		line: over, encoder: encoder, report: report, workers: workers,
		without: encoder.Without,
		pace:    pace.New(workers, pace.NewProcessors().Free),
		window:  line.NewWindow(float64(bandwidth) / 8),
	}
	if bandwidth > 0 {
		s.limit = rate.NewLimiter(rate.Limit(bandwidth)/8, int(bandwidth/8/20)+1) // what goes in 50 ms goes at once
	}
	report.window = s.window
	return s
}

// Records is a stream, record by record (stream.Reader).
type Records interface {
	Next() (stream.Record, error)
	Blocks() []stream.Block
}

// Run passes the stream of a QEMU, as `records` reads it, to the other end, and its return path back, until QEMU has
// closed the stream and the other end's QEMU has all of it. If it returns an error, both connections are closed, and the
// guest runs on here.
func (s *Source) Run(ctx context.Context, qemu halfCloser, records func(io.Reader) Records) error {
	group, ctx := errgroup.WithContext(ctx)
	jobs, order := make(chan job), make(chan job, 1)
	stop := context.AfterFunc(ctx, func() {
		s.window.Close()
		_ = qemu.Close()
		_ = s.line.Close()
	})
	defer stop()
	group.Go(guarded(func() error { return s.read(ctx, qemu, records, jobs, order) }))
	for range s.workers {
		group.Go(guarded(func() error { return s.pack(jobs) }))
	}
	group.Go(guarded(func() error { return s.send(ctx, order) }))
	group.Go(guarded(func() error { return s.answers(qemu) }))
	return group.Wait()
}

// read makes batches of the stream.
func (s *Source) read(ctx context.Context, qemu net.Conn, records func(io.Reader) Records, jobs, order chan<- job) error {
	defer close(jobs)
	defer close(order)
	var failed error
	flush := func() {
		if s.encoder.Pending() == 0 || failed != nil {
			return
		}
		next := job{s.encoder.Flush(), make(chan []byte, 1)}
		s.encoder.Apart = s.Sparing && s.window.Fast(time.Now())
		s.report.collided(s.encoder.Collisions)
		for _, queue := range []chan<- job{order, jobs} {
			select {
			case queue <- next:
			case <-ctx.Done():
				failed = ctx.Err()
			}
		}
	}
	reader := records(&idle{qemu, flush})
	for failed == nil {
		record, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("QEMU's stream: %w", err)
		}
		if s.forget.CompareAndSwap(true, false) {
			s.encoder.Forget()
		}
		before := s.encoder.Len()
		if err := s.encoder.Add(record, reader.Blocks()); err != nil {
			return fmt.Errorf("QEMU's stream: %w", err)
		}
		s.report.encoded.Add(int64(s.encoder.Len() - before))
		if s.encoder.Full() || s.encoder.Literals() >= s.enough() {
			flush()
		}
	}
	flush()
	return failed
}

// enough returns the bytes of literals of which a batch is made: few on a slow line, where one delays the next.
func (s *Source) enough() int {
	return min(max(int(share*s.window.Rate()), fewLiterals), mostLiterals)
}

// pack compresses batches.
func (s *Source) pack(jobs <-chan job) error {
	for next := range jobs {
		level := codec.Stored
		if !s.without.Has(codec.Compression) {
			level = s.pace.Level(s.window.Rate(), time.Now())
		}
		var packed []byte
		var err error
		took := pace.Timed(func() { packed, err = next.batch.Pack(level) })
		if err != nil {
			return err
		}
		s.pace.Measured(level, next.batch.Len(), len(packed), took, time.Now())
		s.report.compressed(next.batch, level, len(packed), took)
		next.packed <- packed
	}
	return nil
}

var errEnded = errors.New("the other end has ended the session")

// send puts batches on the line.
func (s *Source) send(ctx context.Context, order <-chan job) error {
	for next := range order {
		var packed []byte
		select {
		case packed = <-next.packed:
		case <-ctx.Done(): // no worker may have it
			return ctx.Err()
		}
		if err := s.limited(ctx, len(packed)); err != nil {
			return err
		}
		if !s.window.Wait(len(packed), len(next.batch.Stream), time.Now) {
			return errEnded
		}
		s.report.departed(len(packed))
		s.mu.Lock()
		s.untaken = append(s.untaken, next.batch)
		s.mu.Unlock()
		if err := s.line.Write(line.Batch, packed); err != nil {
			return fmt.Errorf("the line to the other end: %w", err)
		}
		codec.Free(packed)
	}
	s.mu.Lock()
	s.finished = true
	s.mu.Unlock()
	return s.line.Write(line.End, nil)
}

// limited waits until so many bytes may go.
func (s *Source) limited(ctx context.Context, bytes int) error {
	if s.limit == nil {
		return nil
	}
	for ; bytes > 0; bytes -= s.limit.Burst() {
		if err := s.limit.WaitN(ctx, min(bytes, s.limit.Burst())); err != nil {
			return err
		}
	}
	return nil
}

// answers reads what the other end says, until it is done.
func (s *Source) answers(qemu halfCloser) error {
	for {
		frame, err := s.line.Read()
		if err != nil {
			return fmt.Errorf("the line to the other end: %w", err)
		}
		switch frame.Kind {
		case line.Ack:
			err = s.taken()
		case line.Wrong:
			err = s.again()
		case line.Return:
			_, _ = qemu.Write(frame.Bytes) // a QEMU that has gone has ended its stream, too
		case line.Closed:
			_ = qemu.CloseWrite()
		case line.Done:
			return s.done()
		default:
			err = fmt.Errorf("the other end sends a frame %q", frame.Kind)
		}
		if err != nil {
			return err
		}
	}
}

func (s *Source) taken() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.untaken) == 0 || !s.window.Taken(time.Now()) {
		return errors.New("the other end takes a batch that was not sent")
	}
	s.untaken[0].Free()
	s.untaken = s.untaken[1:]
	return nil
}

// again sends the oldest batch without references, and has the encoder refer to nothing that was there before.
func (s *Source) again() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.untaken) == 0 {
		return errors.New("the other end wants a batch again that was not sent")
	}
	s.forget.Store(true)
	s.report.change(func(status *Status) { status.Wrong++ })
	packed, err := s.untaken[0].Alone().Pack(codec.Fast)
	if err != nil {
		return err
	}
	return s.line.Write(line.Again, packed)
}

func (s *Source) done() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.finished || len(s.untaken) > 0 {
		return errors.New("the other end says that it has all, and it has not")
	}
	return nil
}
