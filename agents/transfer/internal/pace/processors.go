package pace

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Processors tells how many of the machine's processors nobody uses, from the kernel's account of them (proc_stat(5)).
// Only one goroutine may ask.
type Processors struct {
	read func() ([]byte, error)

	idle time.Duration // of all processors, when it was last asked
	at   time.Time
}

const (
	tick  = 10 * time.Millisecond // USER_HZ is 100 on each Linux
	least = 10 * tick             // a shorter time says nothing
)

// NewProcessors returns the processors of this machine.
func NewProcessors() *Processors {
	p := &Processors{read: func() ([]byte, error) { return os.ReadFile("/proc/stat") }}
	p.idle, _ = p.account()
	p.at = time.Now()
	return p
}

// Free returns how many processors were idle since it was last asked, from 0 to their number: none if that was just now,
// or if the kernel gives no account.
func (p *Processors) Free(now time.Time) float64 {
	passed := now.Sub(p.at)
	if passed < least {
		return 0
	}
	before := p.idle
	idle, known := p.account()
	p.idle, p.at = idle, now
	if !known || before == 0 {
		return 0
	}
	return min(max((idle-before).Seconds()/passed.Seconds(), 0), float64(runtime.NumCPU()))
}

// account returns for how long processors have been idle since the machine's start, all together.
func (p *Processors) account() (time.Duration, bool) {
	text, err := p.read()
	if err != nil {
		return 0, false
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	fields := bytes.Fields(first)
	if len(fields) < 6 || string(fields[0]) != "cpu" {
		return 0, false
	}
	var idle time.Duration
	for _, field := range fields[4:6] { // idle, and idle with a disk's answer outstanding
		ticks, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, false
		}
		idle += time.Duration(ticks) * tick
	}
	return idle, true
}

// Timed runs a function and returns the processor time that it took, without the time that it waited for a processor.
func Timed(run func()) time.Duration {
	runtime.LockOSThread() // the clock is the thread's
	defer runtime.UnlockOSThread()
	began := threadTime()
	run()
	return threadTime() - began
}

func threadTime() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		panic(err) // each Linux has it
	}
	return time.Duration(now.Nano())
}
