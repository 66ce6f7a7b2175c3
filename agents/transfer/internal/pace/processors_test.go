package pace

import (
	"errors"
	"runtime"
	"testing"
	"time"
)

// machine is the kernel's account, as a test says it.
type machine struct {
	text string
	err  error
}

func (m *machine) read() ([]byte, error) { return []byte(m.text), m.err }

func TestFreeProcessorsAreThoseThatWereIdle(t *testing.T) {
	m, now := &machine{text: "cpu  100 0 50 1000 10 0 0 0 0 0\ncpu0 1 2 3\n"}, time.Now()
	p := &Processors{read: m.read}
	p.Free(now)
	if found := p.Free(now.Add(least / 2)); found != 0 {
		t.Errorf("%v processors are free after too short a time to tell", found)
	}
	m.text = "cpu  120 0 60 1050 30 0 0 0 0 0\n" // 70 ticks in a second
	if found := p.Free(now.Add(time.Second)); found < 0.69 || found > 0.71 {
		t.Errorf("%v processors are free, 0.7 were", found)
	}
	m.text = "cpu  120 0 60 1000050 30 0 0 0 0 0\n"
	if found := p.Free(now.Add(2 * time.Second)); found != float64(runtime.NumCPU()) {
		t.Errorf("%v processors are free of %d", found, runtime.NumCPU())
	}
}

func TestNoProcessorIsFreeWithoutAnAccount(t *testing.T) {
	now := time.Now()
	for _, m := range []*machine{{err: errors.New("no /proc")}, {text: ""}, {text: "cpu 1 2"}, {text: "cpu 1 2 3 x y z"}, {text: "intr 1 2 3 4 5 6"}} {
		p := &Processors{read: m.read}
		if found := p.Free(now) + p.Free(now.Add(time.Second)); found != 0 {
			t.Errorf("%q: %v", m.text, found)
		}
	}
	if NewProcessors().idle == 0 {
		t.Error("this machine's account cannot be read")
	}
}

func TestWaitingTakesNoProcessorTime(t *testing.T) {
	if took := Timed(func() { time.Sleep(50 * time.Millisecond) }); took > 40*time.Millisecond {
		t.Errorf("%v of processor time for a sleep", took)
	}
}
