package line

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// pair returns both ends of a connection.
func pair(t testing.TB) (*Line, *Line) {
	one, other := net.Pipe()
	t.Cleanup(func() { _, _ = one.Close(), other.Close() })
	return New(one), New(other)
}

func TestFramesArriveAsTheyWere(t *testing.T) {
	one, other := pair(t)
	sent := []Frame{{Ack, nil}, {Return, []byte("short")}, {Batch, bytes.Repeat([]byte("long"), 1<<16)}, {End, nil}}
	go func() {
		for _, frame := range sent {
			_ = one.Write(frame.Kind, frame.Bytes)
		}
		_ = one.Close()
	}()
	for _, frame := range sent {
		got, err := other.Read()
		if err != nil || got.Kind != frame.Kind || !bytes.Equal(got.Bytes, frame.Bytes) {
			t.Fatalf("%q with %d bytes, %v; not %q with %d", got.Kind, len(got.Bytes), err, frame.Kind, len(frame.Bytes))
		}
	}
	if _, err := other.Read(); !errors.Is(err, io.EOF) {
		t.Fatalf("error %v", err)
	}
}

func TestAFrameThatIsTooLongIsRefusedBeforeItIsRead(t *testing.T) {
	for _, head := range []string{"K\x00\x00\x00\x01", "R\x00\x01\x00\x01", "B\xff\xff\xff\xff", "?\x00\x00\x00\x01"} {
		conn, far := net.Pipe()
		go func() { _, _ = far.Write([]byte(head)) }()
		if _, err := New(conn).Read(); err == nil || !strings.Contains(err.Error(), "bytes; it may have") {
			t.Errorf("%q: error %v", head, err)
		}
	}
}

// greeted returns what both ends find.
func greeted(t *testing.T, source, destination Has) (Greeted, Greeted, error, error) {
	t.Helper()
	one, other := pair(t)
	type result struct {
		agreed Greeted
		err    error
	}
	far := make(chan result, 1)
	go func() {
		agreed, err := other.Greet(destination, false)
		far <- result{agreed, err}
	}()
	agreed, err := one.Greet(source, true)
	found := <-far
	return agreed, found.agreed, err, found.err
}

func TestTheEndsAgreeOnWhatBothHave(t *testing.T) {
	source := Has{Move: "m", References: []string{"a", "b", "c", "b"}, Kept: "k", KeptPages: 7, Mirror: 10}
	destination := Has{Move: "m", References: []string{"c", "b", "d"}, Kept: "k", KeptPages: 7, Mirror: 7}
	one, other, wrong, alsoWrong := greeted(t, source, destination)
	if wrong != nil || alsoWrong != nil {
		t.Fatal(wrong, alsoWrong)
	}
	for _, agreed := range []Greeted{one, other} {
		if strings.Join(agreed.References, "") != "bc" || !agreed.Kept || agreed.Mirror != 7 {
			t.Errorf("%+v", agreed)
		}
	}
	destination.Mirror = 6
	if one, other, _, _ := greeted(t, source, destination); one.Kept || other.Kept || one.Mirror != 6 {
		t.Error("a kept mirror is used that is larger than an end may mirror")
	}
	destination.Kept = "other"
	if one, _, _, _ := greeted(t, source, destination); one.Kept {
		t.Error("mirrors of other states are used")
	}
	source.Kept, destination.Kept = "", ""
	if one, _, _, _ := greeted(t, source, destination); one.Kept {
		t.Error("mirrors that nobody has are used")
	}
}

func TestAnotherVersionIsRefusedByBothEnds(t *testing.T) {
	one, other := pair(t)
	go func() { _ = one.Write(Greeting, []byte(`{"weft-transfer": 1, "move": "m"}`)) }()
	refused := make(chan error, 1)
	go func() {
		_, err := one.Read()
		refused <- err
	}()
	text := fmt.Sprintf("one end has version 1 of the protocol and the other one %d", Version)
	if _, err := other.Greet(Has{Move: "m"}, false); err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("here: %v", err)
	}
	if err := <-refused; !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), text) {
		t.Errorf("there: %v", err)
	}
}

func FuzzAnyBytesAreFramesOrAnError(f *testing.F) {
	f.Add([]byte("G\x00\x00\x00\x02{}"))
	f.Add([]byte("K\x00\x00\x00\x00E\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		conn, far := net.Pipe()
		defer conn.Close()
		go func() {
			_, _ = far.Write(sent)
			_ = far.Close()
		}()
		over, read := New(conn), 0
		for {
			frame, err := over.Read()
			if err != nil {
				break
			}
			read += header + len(frame.Bytes)
		}
		if read > len(sent) {
			t.Fatalf("%d bytes of frames in %d", read, len(sent))
		}
	})
}

// clock is a time that tests advance. Answers arrive at multiples of `burst`.
type clock struct {
	now   time.Time
	burst time.Duration
}

func (c *clock) time() time.Time { return c.now }

// drive sends batches over a simulated line for some seconds, and returns the most that was on its way in the last one. In
// the end all have arrived.
func drive(c *clock, w *Window, rate float64, trip time.Duration, seconds, size int) (most int) {
	type going struct {
		done  time.Time
		bytes int
	}
	queue := []going{}
	free, end := c.now, c.now.Add(time.Duration(seconds)*time.Second)
	for c.now.Before(end) {
		w.mu.Lock()
		room := w.flying == 0 || w.flying < w.limit()
		w.mu.Unlock()
		if room {
			w.Wait(size, size, c.time)
			if free.Before(c.now) {
				free = c.now
			}
			free = free.Add(time.Duration(float64(size) / rate * 1e9))
			done := free.Add(trip)
			if c.burst > 0 {
				done = done.Add(c.burst - 1).Truncate(c.burst)
			}
			queue = append(queue, going{done, size})
			if end.Sub(c.now) < time.Second {
				most = max(most, w.Flying())
			}
			continue
		}
		c.now, queue = queue[0].done, queue[1:]
		w.Taken(c.now)
	}
	for _, last := range queue {
		c.now = last.done
		w.Taken(c.now)
	}
	return most
}

func TestTheLineIsFullAndItsQueueIsShort(t *testing.T) {
	for _, mbits := range []float64{5, 25, 100, 1000} {
		for _, trip := range []time.Duration{5, 40, 100} {
			c, w, rate := &clock{}, NewWindow(0), mbits*1e6/8
			trip *= time.Millisecond
			size := min(max(int(0.05*rate), 16<<10), 256<<10)
			most := drive(c, w, rate, trip, 20, size)
			if found := w.Rate(); found < 0.9*rate || found > 1.1*rate {
				t.Errorf("%v Mbit/s, %v: found %.1f Mbit/s", mbits, trip, found*8/1e6)
			}
			if queued := float64(most)/rate - trip.Seconds(); most > smallest && queued > 0.25 {
				t.Errorf("%v Mbit/s, %v: %.2f s of queue", mbits, trip, queued)
			}
		}
	}
}

// trickle sends a small batch every 50 ms for some seconds, each of which arrives before the next one goes.
func trickle(c *clock, w *Window, rate float64, trip time.Duration, seconds int) {
	const size = 4096
	for end := c.now.Add(time.Duration(seconds) * time.Second); c.now.Before(end); {
		w.Wait(size, size, c.time)
		w.Taken(c.now.Add(trip + time.Duration(float64(size)/rate*1e9)))
		c.now = c.now.Add(trip + 50*time.Millisecond)
	}
}

func TestALineWithLittleToCarryIsAsFastAsBefore(t *testing.T) {
	for _, mbits := range []float64{5, 100, 1000} {
		c, w, rate, trip := &clock{}, NewWindow(0), mbits*1e6/8, 40*time.Millisecond
		drive(c, w, rate, trip, 5, 32<<10)
		trickle(c, w, rate, trip, 5)
		if found := w.Rate(); found < 0.9*rate || found > 1.1*rate {
			t.Errorf("%v Mbit/s: found %.1f Mbit/s", mbits, found*8/1e6)
		}
	}
}

func TestALineThatBecomesSlowerIsFoundOut(t *testing.T) {
	c, w, rate := &clock{}, NewWindow(0), 12.5e6
	drive(c, w, rate, 20*time.Millisecond, 5, 64<<10)
	drive(c, w, rate/10, 20*time.Millisecond, 10, 64<<10)
	if found := w.Rate(); found > 1.1*rate/10 {
		t.Errorf("%.1f Mbit/s on a line of %.1f", found*8/1e6, rate*8/1e7)
	}
}

func TestAnswersThatComeInBurstsAreNoFasterLine(t *testing.T) {
	c, w, rate := &clock{burst: 50 * time.Millisecond}, NewWindow(0), 7.5e6
	drive(c, w, rate, 20*time.Millisecond, 10, 32<<10)
	if found := w.Rate(); found < 0.9*rate || found > 1.2*rate {
		t.Errorf("%.1f Mbit/s on a line of %.1f", found*8/1e6, rate*8/1e6)
	}
}

func TestAFastLineIsToldFromOthers(t *testing.T) {
	for mbits, fast := range map[float64]bool{10: false, 100: false, 250: false, 500: true, 1000: true} {
		for _, trip := range []time.Duration{5 * time.Millisecond, 100 * time.Millisecond} {
			c, w := &clock{}, NewWindow(0)
			drive(c, w, mbits*1e6/8, trip, 5, 128<<10)
			if w.Fast(c.now) != fast {
				t.Errorf("%v Mbit/s, %v: %v", mbits, trip, !fast)
			}
			if w.Fast(c.now.Add(lasting)) {
				t.Error("it is fast for ever")
			}
		}
	}
}

func TestABucketOfTokensIsNoFastLine(t *testing.T) {
	c, w := &clock{}, NewWindow(0)
	w.Wait(1<<20, 1<<20, c.time) // a megabyte at once
	c.now = c.now.Add(6 * time.Millisecond)
	w.Taken(c.now)
	drive(c, w, 7.5e6, 5*time.Millisecond, 2, 64<<10)
	if w.Fast(c.now) {
		t.Error("60 Mbit/s are taken for a fast line")
	}
}

func TestALimitOfThisEndIsTheRate(t *testing.T) {
	c, w := &clock{}, NewWindow(1e6)
	drive(c, w, 12.5e6, 20*time.Millisecond, 5, 64<<10)
	if found := w.Rate(); found != 1e6 {
		t.Errorf("%.0f bytes per second, and this end sends 1,000,000", found)
	}
}

func TestAClosedWindowLetsNothingThrough(t *testing.T) {
	w, done := NewWindow(0), make(chan bool, 1)
	w.Wait(1<<30, 0, time.Now)
	go func() { done <- w.Wait(1, 0, time.Now) }()
	w.Close()
	if <-done {
		t.Error("a batch goes")
	}
	if !w.Taken(time.Now()) || w.Taken(time.Now()) {
		t.Error("batches that were not sent are taken")
	}
}

func TestBatchesThatStandForMuchAreHeldWithinBounds(t *testing.T) {
	w, done := NewWindow(0), make(chan bool, 1)
	for range mostHeld / (4 << 20) {
		w.Wait(100, 4<<20, time.Now)
	}
	go func() { done <- w.Wait(100, 4<<20, time.Now) }()
	select {
	case <-done:
		t.Fatalf("more than %d bytes of the stream are held", mostHeld)
	case <-time.After(20 * time.Millisecond):
	}
	w.Taken(time.Now())
	if !<-done {
		t.Error("the next one does not go")
	}
}
