package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Result is the measurement of a daemon at a size. Times are in milliseconds.
type Result struct {
	Cell
	Version    string  `json:"version,omitempty"`
	Error      string  `json:"error,omitempty"`
	First      string  `json:"first_attempt,omitempty"`  // error of the first attempt, if there was a second one
	Converged  float64 `json:"convergence_ms,omitempty"` // from all announcements at once to the last route at the last PE
	Made       int     `json:"changes_made"`
	P50        float64 `json:"change_p50_ms,omitempty"`
	P99        float64 `json:"change_p99_ms,omitempty"` // the slowest, with less than 100 changes
	ChangeCPU  float64 `json:"change_cpu_s,omitempty"`  // per change
	Withdrawal float64 `json:"withdrawal_ms,omitempty"` // from a site's withdrawal of all routes until the last PE has lost them
	FlapDown   float64 `json:"flap_down_ms,omitempty"`  // from the end of a session until the last PE has lost its routes
	FlapUp     float64 `json:"flap_up_ms,omitempty"`    // from the new connection until all is as before
	NeverUp    string  `json:"flap_up_never,omitempty"` // why the session's routes do not come back
	Peak       float64 `json:"peak_mb,omitempty"`       // VmHWM
	CPU        float64 `json:"cpu_s,omitempty"`         // user and system, over the daemon's life
	Checked    int64   `json:"announcements_checked"`
	Own        int64   `json:"own_routes_reflected"`
	Check      string  `json:"check"`
}

// measurePatiently measures a daemon a second time if the first run fails. A daemon that loses a session in the rush at
// the start (bgpd sometimes does) has not shown how fast it is.
func measurePatiently(c Cell, args []string) Result {
	first := measureOutside(c, args)
	if first.Error == "" || first.Error == interrupted {
		return first
	}
	second := measureOutside(c, args)
	second.First = first.Error
	return second
}

// interrupted is the error of a cell that a signal has stopped.
const interrupted = "interrupted"

// measureOutside makes a namespace, measures in it, and removes it in every case.
func measureOutside(c Cell, args []string) Result {
	result := Result{Cell: c}
	namespace := fmt.Sprintf("weft-bench-%d", os.Getpid())
	if out, err := exec.Command("ip", "netns", "add", namespace).CombinedOutput(); err != nil {
		result.Error = strings.TrimSpace(string(out))
		return result
	}
	defer func() { _ = exec.Command("ip", "netns", "del", namespace).Run() }()
	if out, err := exec.Command("ip", "-n", namespace, "link", "set", "lo", "up").CombinedOutput(); err != nil {
		result.Error = strings.TrimSpace(string(out))
		return result
	}
	// Acknowledge at once: the emulated PEs send no data that could carry an acknowledgement, and a daemon that leaves
	// TCP's Nagle algorithm on (BIRD) would wait for 40 ms each time.
	for _, to := range []string{"127.0.0.0/8", "127.0.0.1"} {
		out, err := exec.Command("ip", "-n", namespace, "route", "change", "local", to, "dev", "lo", "table", "local",
			"proto", "kernel", "scope", "host", "src", "127.0.0.1", "quickack", "1").CombinedOutput()
		if err != nil {
			result.Error = strings.TrimSpace(string(out))
			return result
		}
	}
	text, err := json.Marshal(c)
	if err != nil {
		result.Error = err.Error()
		return result
	}
	self, err := os.Executable()
	if err != nil {
		result.Error = err.Error()
		return result
	}
	dir, err := os.MkdirTemp("", "weft-bench-")
	if err == nil {
		err = os.Chmod(dir, 0o755) // bgpd drops root privileges
	}
	if err != nil {
		result.Error = err.Error()
		return result
	}
	defer os.RemoveAll(dir)
	child := exec.Command("ip", append([]string{"netns", "exec", namespace, self, "-inside", string(text)}, args...)...)
	child.Env = append(os.Environ(), "TMPDIR="+dir)
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var errs strings.Builder
	child.Stderr = &errs
	var out strings.Builder
	child.Stdout = &out
	child.WaitDelay = time.Second
	if err := child.Start(); err != nil {
		result.Error = err.Error()
		return result
	}
	// The child and its daemons are one process group.
	overdue := time.AfterFunc(c.Limit+20*time.Second, func() { _ = syscall.Kill(-child.Process.Pid, syscall.SIGKILL) })
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	over := make(chan error, 1)
	go func() { over <- child.Wait() }()
	select {
	case err = <-over:
	case <-stop:
		_ = syscall.Kill(-child.Process.Pid, syscall.SIGKILL)
		<-over
		result.Error = interrupted
	}
	signal.Stop(stop)
	overdue.Stop()
	_ = syscall.Kill(-child.Process.Pid, syscall.SIGKILL)
	if result.Error == interrupted {
		return result
	}
	if e := json.Unmarshal([]byte(out.String()), &result); e != nil {
		words := errs.String()
		result.Error = strings.TrimSpace(fmt.Sprintf("no result (%v): %s", err, words[max(0, len(words)-400):]))
	}
	return result
}

// measureInside measures one cell in the present namespace and writes the result to standard output.
func measureInside(text string, t Tools) error {
	var c Cell
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	c.Tools = t
	if c.Daemon == "bare-sender" {
		return sendBare(c)
	}
	result := Result{Cell: c}
	if err := measure(c, &result); err != nil {
		result.Error = err.Error()
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func measure(c Cell, result *Result) error {
	deadline := time.Now().Add(c.Limit)
	left := func() time.Duration { return max(time.Until(deadline), time.Millisecond) }
	dir, err := os.MkdirTemp("", "weft-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	kind := drivers[c.Daemon]
	result.Check = "own route target only"
	if kind.shared {
		result.Check = "route targets of the pool"
	}
	r := newReceiver(c, kind.rtc, kind.shared)
	for i := range c.PEs {
		r.world.silent[i] = true
	}
	d, err := kind.start(c, r.world, dir)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	defer d.process().stop()
	result.Version = d.version()
	defer func() { result.Peak, result.CPU = d.process().peak(), d.process().cpu() }()

	if err := r.connectAll(deadline); err != nil {
		return errors.Join(err, d.process().dead())
	}
	go r.keepalives()
	time.Sleep(time.Second) // the exchange of End-of-RIBs and the like ends
	r.stage(func(w *World) {
		for i := range w.silent {
			w.silent[i] = false
		}
	})
	start := time.Now()
	r.announceAll()
	took, err := r.settle(start, left())
	if err != nil {
		return errors.Join(fmt.Errorf("convergence: %w", err), d.process().dead())
	}
	result.Converged = ms(took)
	if !kind.bare {
		if err := cases(c, d, r, result, left); err != nil {
			return errors.Join(err, d.process().dead())
		}
	}
	time.Sleep(100 * time.Millisecond)
	result.Checked, result.Own = r.checked.Load(), r.own.Load()
	return r.audit()
}

// cases measures membership changes, a withdrawal and a session flap in a converged region.
func cases(c Cell, d Driver, r *Receiver, result *Result, left func() time.Duration) error {
	var times []time.Duration
	before, begin := d.process().cpu(), time.Now()
	for n := range c.Changes {
		if n >= 4 && n%2 == 0 && time.Since(begin) > c.Limit/12 {
			break // a slow daemon makes fewer changes
		}
		site := (n / 2 * 7) % c.PEs
		target := r.world.pool[site]
		if n%2 == 0 {
			target = (target + 1) % r.world.pools
		} else {
			target = (target + r.world.pools - 1) % r.world.pools
		}
		from := r.world.pool[site]
		r.stage(func(w *World) { w.pool[site] = target })
		start := time.Now()
		if err := d.move(site, from, target); err != nil {
			return fmt.Errorf("change %d: %w", n+1, err)
		}
		took, err := r.settle(start, min(left(), time.Minute))
		if err != nil {
			return fmt.Errorf("change %d: %w", n+1, err)
		}
		times = append(times, took)
	}
	if len(times) > 0 {
		slices.Sort(times)
		result.Made = len(times)
		result.P50, result.P99 = ms(times[len(times)/2]), ms(times[(len(times)*99+99)/100-1])
		result.ChangeCPU = (d.process().cpu() - before) / float64(len(times))
	}
	w := 1
	r.stage(func(world *World) { world.silent[w] = true })
	start := time.Now()
	if _, err := r.pes[w].conn.Write(r.world.family.withdrawals(w, r.world.routes)); err != nil {
		return err
	}
	took, err := r.settle(start, min(left(), time.Minute))
	if err != nil {
		return fmt.Errorf("withdrawal: %w", err)
	}
	result.Withdrawal = ms(took)
	r.stage(func(world *World) { world.silent[w] = false })
	start = time.Now()
	if _, err := r.pes[w].conn.Write(r.world.family.announcements(w, r.world.routes, rt(w))); err != nil {
		return err
	}
	if _, err = r.settle(start, min(left(), time.Minute)); err != nil {
		return fmt.Errorf("announcing again: %w", err)
	}
	r.stage(func(world *World) { world.silent[w] = true })
	start = time.Now()
	r.drop(w)
	if took, err = r.settle(start, min(left(), time.Minute)); err != nil {
		return fmt.Errorf("flap, down: %w", err)
	}
	result.FlapDown = ms(took)
	r.mu.Lock()
	r.pes[w] = nil
	r.mu.Unlock()
	r.stage(func(world *World) { world.silent[w] = false })
	start = time.Now()
	if err := r.connect(w, start.Add(min(left(), time.Minute))); err != nil {
		return fmt.Errorf("flap, up: %w", err)
	}
	if _, err := r.pes[w].conn.Write(r.announced(w)); err != nil {
		return err
	}
	if took, err = r.settle(start, min(left()/2, 20*time.Second)); err != nil {
		result.NeverUp = err.Error()
		r.drop(w)
		r.mu.Lock()
		r.lost = w
		r.mu.Unlock()
		r.stage(func(world *World) { world.silent[w] = true })
		_, err = r.settle(time.Now(), min(left(), time.Minute))
		return err
	}
	result.FlapUp = ms(took)
	return nil
}

func (r *Receiver) connectAll(deadline time.Time) error {
	errs := make(chan error, len(r.pes))
	slots := make(chan struct{}, 50)
	for i := range r.pes {
		slots <- struct{}{}
		go func() {
			errs <- r.connect(i, deadline)
			<-slots
		}()
	}
	for range r.pes {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

func (r *Receiver) announceAll() {
	messages := make([][]byte, len(r.pes))
	for i := range r.pes {
		messages[i] = r.announced(i)
	}
	var all sync.WaitGroup
	for i, m := range messages {
		all.Go(func() {
			if _, err := r.pes[i].conn.Write(m); err != nil {
				r.fail(err)
			}
		})
	}
	all.Wait()
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
