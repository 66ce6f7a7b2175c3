package ends

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"weft/agents/transfer/internal/codec"
	"weft/agents/transfer/internal/line"
	"weft/agents/transfer/internal/qemutest"
	"weft/agents/transfer/internal/stream"
)

// sockets returns both ends of a unix connection, as QEMU's is.
func sockets(t *testing.T) (*net.UnixConn, *net.UnixConn) {
	t.Helper()
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "qemu"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	near, err := net.Dial("unix", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return near.(*net.UnixConn), far.(*net.UnixConn)
}

func migration(in io.Reader) Records { return stream.NewReader(in) }

// ends runs a source on a line whose other end is `other`, and returns the source's error. QEMU never stops sending.
func ends(t *testing.T, ctx context.Context, other func(*line.Line)) error {
	t.Helper()
	near, far := net.Pipe()
	qemu, sender := sockets(t)
	guest := qemutest.NewGuest(100, 1)
	go func() {
		defer sender.Close()
		_, err := sender.Write(guest.Begin())
		for err == nil {
			_, err = sender.Write(guest.Round(guest.Write(100), false))
		}
	}()
	go func() {
		other(line.New(far))
		_ = far.Close()
	}()
	source := NewSource(line.New(near), codec.NewEncoder(codec.NewMemory(1000, codec.InMemory)), 2, 0, NewReport("m"))
	done := make(chan error, 1)
	go func() { done <- source.Run(ctx, qemu, migration) }()
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("the source's end does not end")
		return nil
	}
}

func TestTheSourceEndsWithItsLine(t *testing.T) {
	for cut := 0; cut < 40; cut += 13 {
		err := ends(t, t.Context(), func(over *line.Line) {
			for range cut {
				if _, err := over.Read(); err != nil {
					return
				}
				if over.Write(line.Ack, nil) != nil {
					return
				}
			}
		})
		if err == nil {
			t.Fatalf("after %d batches: no error", cut)
		}
	}
}

func TestTheSourceEndsWhenItIsTold(t *testing.T) {
	for n := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(n)*5*time.Millisecond, cancel)
		if err := ends(t, ctx, func(over *line.Line) {
			for { // it takes all, and answers nothing
				if _, err := over.Read(); err != nil {
					return
				}
			}
		}); err == nil {
			t.Fatal("no error")
		}
	}
}

func TestAnswersThatNothingAskedForEndTheSession(t *testing.T) {
	for _, kind := range []line.Kind{line.Done, line.Batch, line.Wrong, line.Ack} {
		if err := ends(t, t.Context(), func(over *line.Line) {
			_ = over.Write(kind, nil)
			_, _ = over.Read()
			_ = over.Write(kind, nil)
			_, _ = over.Read()
			_ = over.Write(kind, nil)
			for {
				if _, err := over.Read(); err != nil {
					return
				}
			}
		}); err == nil {
			t.Errorf("%q three times is no error", kind)
		}
	}
}

// destined runs a destination whose source is `other`, and returns its error, and the bytes that QEMU got.
func destined(t *testing.T, other func(*line.Line)) ([]byte, error) {
	t.Helper()
	near, far := net.Pipe()
	qemu, waiting := sockets(t)
	got := make(chan []byte, 1)
	go func() {
		all, _ := io.ReadAll(waiting)
		got <- all
	}()
	go func() {
		other(line.New(far))
		_ = far.Close()
	}()
	decoder := codec.NewDecoder(codec.NewMemory(1000, codec.InMemory))
	done := make(chan error, 1)
	go func() { done <- NewDestination(line.New(near), decoder, false, NewReport("m")).Run(t.Context(), qemu) }()
	select {
	case err := <-done:
		_ = qemu.Close()
		return <-got, err
	case <-time.After(20 * time.Second):
		t.Fatal("the destination's end does not end")
		return nil, nil
	}
}

func TestQEMUGetsNothingOfABatchThatCannotBeRead(t *testing.T) {
	for name, frames := range map[string][]line.Frame{
		"no batch":              {{Kind: line.Batch, Bytes: []byte("no batch")}},
		"again, but none wrong": {{Kind: line.Again, Bytes: []byte("no batch")}},
		"an answer":             {{Kind: line.Ack}},
		"nothing at all":        nil,
	} {
		got, err := destined(t, func(over *line.Line) {
			for _, frame := range frames {
				if over.Write(frame.Kind, frame.Bytes) != nil {
					return
				}
			}
			if len(frames) > 0 {
				_, _ = over.Read() // the refusal
			}
		})
		if err == nil || len(got) > 0 {
			t.Errorf("%s: QEMU gets %d bytes, error %v", name, len(got), err)
		}
	}
}

func TestABatchThatNoWorkerHasIsNotWaitedFor(t *testing.T) {
	source := NewSource(line.New(nil), codec.NewEncoder(codec.NewMemory(0, codec.InMemory)), 1, 0, NewReport("m"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	order, done := make(chan job, 1), make(chan error, 1)
	order <- job{&codec.Batch{}, make(chan []byte, 1)}
	go func() { done <- source.send(ctx, order) }()
	select {
	case err := <-done:
		if err == nil {
			t.Error("no error")
		}
	case <-time.After(20 * time.Second):
		t.Error("the line waits for ever")
	}
}

func TestASparingSourceStopsMirroringOnAFastLine(t *testing.T) {
	for _, sparing := range []bool{false, true} {
		near, far := net.Pipe()
		qemu, sender := sockets(t)
		guest := qemutest.NewGuest(100, 1)
		go func() {
			_, _ = sender.Write(append(guest.Begin(), guest.Round(guest.All(), false)...))
			_ = sender.Close()
		}()
		go func() {
			over := line.New(far)
			for frame, err := over.Read(); err == nil; frame, err = over.Read() {
				answer := line.Ack
				if frame.Kind == line.End {
					answer = line.Done
				}
				_ = over.Write(answer, nil)
			}
		}()
		source := NewSource(line.New(near), codec.NewEncoder(codec.NewMemory(1000, codec.InMemory)), 2, 0, NewReport("m"))
		source.Sparing = sparing
		now := time.Now()
		source.window.Wait(3<<20, 0, func() time.Time { return now })
		source.window.Taken(now.Add(time.Millisecond)) // 3 MB in a millisecond
		if err := source.Run(t.Context(), qemu, migration); err != nil {
			t.Fatal(err)
		}
		if source.encoder.Apart != sparing || !source.report.Status().Fast {
			t.Errorf("sparing %v: further pages are kept apart: %v", sparing, source.encoder.Apart)
		}
	}
}
