package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Driver makes a daemon do the job in the way that suits it best.
type Driver interface {
	process() *Process
	version() string
	// move moves a site to another pool. The receiver's world already has the site there.
	move(site, from, to int) error
}

// kind is the static description of a daemon.
type kind struct {
	start  func(c Cell, w *World, dir string) (Driver, error)
	rtc    bool // the daemon uses RT-Constrain
	shared bool // the daemon cannot give each PE its own route target: a route carries those of its pool
	bare   bool // the daemon only sends

	families []string // families that it has; empty: all
	most     int      // largest number of PEs that it is measured with; 0: any
	widest   int      // largest number of members of a pool; 0: any
}

// lacks reports whether a size is not measured with a daemon.
func (k *kind) lacks(s Size) bool {
	return len(k.families) > 0 && !slices.Contains(k.families, s.Family) || k.most > 0 && s.PEs > k.most || k.widest > 0 && s.Pool > k.widest
}

var drivers = map[string]*kind{
	now:     {start: startWeft(func(t Tools) string { return t.Weft })},
	before:  {start: startWeft(func(t Tools) string { return t.Before })},
	"bird":  {start: startBird, families: []string{"vpnv4"}},
	"frr":   {start: startFRR, shared: true, families: []string{"vpnv4", "evpn"}},
	"gobgp": {start: startGobgp(constrained), rtc: true, shared: true, widest: 100},

	"gobgp-export":   {start: startGobgp(exports), most: 100},
	"gobgp-reorigin": {start: startReorigin, rtc: true, shared: true, widest: 100},
}

// Process is a running daemon.
type Process struct {
	command *exec.Cmd
	log     string
	ended   chan struct{}
}

func startProcess(dir, name string, args ...string) (*Process, error) {
	p := &Process{command: exec.Command(name, args...), log: dir + "/log", ended: make(chan struct{})}
	file, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p.command.Stdout, p.command.Stderr = file, file
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.command.Wait()
		close(p.ended)
	}()
	return p, nil
}

// stop ends the daemon, and kills it if it does not end within three seconds.
func (p *Process) stop() {
	_ = p.command.Process.Signal(os.Interrupt)
	select {
	case <-p.ended:
	case <-time.After(3 * time.Second):
		_ = p.command.Process.Kill()
		<-p.ended
	}
}

// dead returns an error with the end of the daemon's log, if the daemon has ended or has written a log.
func (p *Process) dead() error {
	text, _ := os.ReadFile(p.log)
	words := strings.TrimSpace(string(text[max(0, len(text)-500):]))
	select {
	case <-p.ended:
		return fmt.Errorf("the daemon ended: %s; it said: %s", p.command.ProcessState, words)
	default:
	}
	if words == "" {
		return nil
	}
	return fmt.Errorf("the daemon said: %s", words)
}

// peak returns the largest resident size of the process in MB.
func (p *Process) peak() float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "VmHWM:"); found {
			kb, _ := strconv.ParseFloat(strings.Fields(value)[0], 64)
			return kb / 1024
		}
	}
	return 0
}

// cpu returns the user and system time of the process in seconds (clock ticks of 10 ms).
func (p *Process) cpu() float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.command.Process.Pid))
	_, after, _ := strings.Cut(string(text), ") ")
	words := strings.Fields(after)
	if len(words) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(words[11], 64)
	system, _ := strconv.ParseFloat(words[12], 64)
	return (user + system) / 100
}

// patiently repeats a call that fails until the daemon is up.
func patiently(p *Process, f func() error) error {
	var err error
	for range 400 {
		if err = f(); err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return p.dead()
		case <-time.After(25 * time.Millisecond):
		}
	}
	return err
}

// output returns the first line of a command's output.
func output(name string, args ...string) string {
	out, _ := exec.Command(name, args...).CombinedOutput()
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}
