package ends

import (
	"bytes"
	"math"
	"net"
	"testing"
	"time"

	"weft/agents/transfer/internal/codec"
	"weft/agents/transfer/internal/line"
	"weft/agents/transfer/internal/qemutest"
)

// TestTheBacklogIsWhatTheLineHasToCarry has an end that takes nothing for a while: what the source says that the line has
// to carry is then what comes over it.
func TestTheBacklogIsWhatTheLineHasToCarry(t *testing.T) {
	near, far := net.Pipe()
	qemu, sender := sockets(t)
	guest := qemutest.NewGuest(120, 1) // no more than the stages take while the window is full
	go func() {
		defer sender.Close()
		_, _ = sender.Write(guest.Begin())
		_, _ = sender.Write(guest.Round(guest.All(), true))
	}()
	report := NewReport("m")
	source := NewSource(line.New(near), codec.NewEncoder(codec.NewMemory(1000, codec.InMemory)), 2, 0, report)
	done := make(chan error, 1)
	go func() { done <- source.Run(t.Context(), qemu, migration) }()

	over, came, frames := line.New(far), 0, make(chan line.Frame)
	go func() {
		defer close(frames)
		for {
			frame, err := over.Read()
			if err != nil {
				return
			}
			frames <- line.Frame{Kind: frame.Kind, Bytes: append([]byte(nil), frame.Bytes...)}
		}
	}()
	held := 0
	for quiet := false; !quiet; { // until the window is full
		select {
		case frame := <-frames:
			came += len(frame.Bytes)
			held++
		case <-time.After(time.Second):
			quiet = true
		}
	}
	said := report.Status().Backlog
	for range held {
		if err := over.Write(line.Ack, nil); err != nil {
			t.Fatal(err)
		}
	}
	for frame := range frames {
		if frame.Kind == line.End {
			break
		}
		came += len(frame.Bytes)
		if err := over.Write(line.Ack, nil); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		for range frames { // none, until the source has closed the line
		}
	}()
	if err := over.Write(line.Done, nil); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if off := math.Abs(float64(said)/float64(came) - 1); off > 0.15 {
		t.Errorf("the source said %d bytes, and %d came", said, came)
	}
	if rest := report.Status().Backlog; rest != 0 {
		t.Errorf("%d bytes of backlog after the end", rest)
	}
}

func TestAPageThatIsSentAgainCostsAsMuchAsAnyBeforeOneWas(t *testing.T) {
	report := NewReport("m")
	if found := report.Status().Repeated; found != 4096 {
		t.Errorf("%v bytes before anything was sent", found)
	}
	encoder := codec.NewEncoder(codec.NewMemory(1000, codec.InMemory))
	guest := qemutest.NewGuest(100, 1)
	reader := migration(bytes.NewReader(append(guest.Begin(), guest.Round(guest.All(), false)...)))
	for record, err := reader.Next(); err == nil; record, err = reader.Next() {
		if err := encoder.Add(record, reader.Blocks()); err != nil {
			t.Fatal(err)
		}
	}
	batch := encoder.Flush()
	report.compressed(batch, codec.Fast, batch.Len()/4, 0)
	if found := report.Status().Repeated; found < 1000 || found > 1050 {
		t.Errorf("%v bytes at a ratio of a quarter", found)
	}
}

func TestWhatThingsHaveCostLately(t *testing.T) {
	var l lately
	now := time.Unix(0, 0)
	if found := l.each(7); found != 7 {
		t.Errorf("nothing is known, and one costs %v", found)
	}
	l.add(now, 0, 5)
	l.add(now, 10, 50)
	l.add(now.Add(time.Second), 10, 10)
	if found := l.each(7); found != 3 {
		t.Errorf("20 have cost 60, and one costs %v", found)
	}
	l.add(now.Add(2500*time.Millisecond), 0, 1000)
	l.add(now.Add(2500*time.Millisecond), 10, 20)
	if found := l.each(7); found != 1.5 {
		t.Errorf("20 have cost 30, and one costs %v", found)
	}
	l.add(now.Add(time.Hour), 1, 9)
	if found := l.each(7); found != 9 {
		t.Errorf("only the newest is recent, and one costs %v", found)
	}
}
