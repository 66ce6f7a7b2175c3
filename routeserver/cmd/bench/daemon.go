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

// Driver makes a daemon do the job by its best means.
type Driver interface {
	process() *Process
	version() string
	// move takes a site from one pool to another. The receiver's world has it there already.
	move(site, from, to int) error
}

// kind is what there is to know of a daemon before it runs.
type kind struct {
	start  func(c Cell, w *World, dir string) (Driver, error)
	rtc    bool // it is used with RT-Constrain
	shared bool // it cannot give each PE its own route target: a route carries those of its pool
	bare   bool // it only sends

	families []string // that it has, if not all
	most     int      // PEs that it is measured with, if not any number
	widest   int      // members of a pool likewise
}

// lacks says whether a size is not for a daemon.
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

// Process is a daemon that runs.
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

// stop ends the daemon, by force if it does not end within three seconds.
func (p *Process) stop() {
	_ = p.command.Process.Signal(os.Interrupt)
	select {
	case <-p.ended:
	case <-time.After(3 * time.Second):
		_ = p.command.Process.Kill()
		<-p.ended
	}
}

// dead is an error with the daemon's last words, if it has ended or said something.
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

// peak is the process's largest resident size in MB.
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

// cpu is the process's user and system time in seconds (clock ticks of 10 ms).
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

// patiently repeats something that cannot work before a daemon is up.
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

// output is a command's first line.
func output(name string, args ...string) string {
	out, _ := exec.Command(name, args...).CombinedOutput()
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}
