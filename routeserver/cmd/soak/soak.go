package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"weft/routeserver/internal/rawbgp"
)

// daemon is the route server's process.
type daemon struct {
	command *exec.Cmd
	log     string
	ended   chan struct{}
}

func startDaemon(program, dir string) (*daemon, error) {
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte(token), 0o600); err != nil {
		return nil, err
	}
	d := &daemon{log: filepath.Join(dir, "log"), ended: make(chan struct{})}
	d.command = exec.Command(program, "--name", "rs", "--listen", server+":179", "--control", strings.TrimPrefix(api, "http://"),
		"--token-file", filepath.Join(dir, "token"), "--state", filepath.Join(dir, "state"), "--router-id", "10.255.0.1", "--log-level", "warn",
		"--idle-hold", "0") // otherwise the route server would refuse the rogue PE most of the time
	file, err := os.Create(d.log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	d.command.Stdout, d.command.Stderr = file, file
	if err := d.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = d.command.Wait()
		close(d.ended)
	}()
	return d, nil
}

// stop ends the daemon and returns an error if it does not end well.
func (d *daemon) stop() error {
	_ = d.command.Process.Signal(os.Interrupt)
	select {
	case <-d.ended:
	case <-time.After(10 * time.Second):
		_ = d.command.Process.Kill()
		<-d.ended
		return errors.New("the route server did not end within 10 s")
	}
	if !d.command.ProcessState.Success() {
		return fmt.Errorf("the route server ended: %s; it said: %s", d.command.ProcessState, d.words())
	}
	return nil
}

func (d *daemon) words() string {
	text, _ := os.ReadFile(d.log)
	return strings.TrimSpace(string(text[max(0, len(text)-2000):]))
}

// soak runs the plan. The error means that it could not run; faults of the route server are in the result.
func soak(ctx context.Context, p Plan) (*Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	dir, err := os.MkdirTemp("", "weft-soak-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	d, err := startDaemon(p.Weft, dir)
	if err != nil {
		return nil, err
	}
	region := newRegion(p, func(err error) { cancel(err) })
	random := rand.New(rand.NewPCG(p.Seed, 0))
	churn := &Churn{Rand: random, Controller: &Controller{region: region}, done: map[string]int{}}
	result := &Result{Plan: p, Started: time.Now().UTC(), Machine: machine()}
	err = begin(churn, d)
	if err == nil {
		var background sync.WaitGroup
		over, end := context.WithCancel(ctx)
		background.Go(func() { region.keepalives(over) })
		background.Go(func() { region.doze(over) })
		background.Go(func() { region.rogue().plague(over, rand.New(rand.NewPCG(p.Seed, 1))) })
		background.Go(func() { region.hostile().besiege(over, rand.New(rand.NewPCG(p.Seed, 2))) })
		background.Go(func() { result.sample(over, churn.Controller, d) })
		err = disturb(over, p, churn, result)
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		end()
		background.Wait()
	}
	select {
	case <-d.ended:
		err = errors.Join(err, fmt.Errorf("the route server ended: %s; it said: %s", d.command.ProcessState, d.words()))
	default:
	}
	region.mu.Lock()
	result.Checked = region.checked
	region.mu.Unlock()
	for _, pe := range region.pes {
		if conn := pe.forget(); conn != nil {
			conn.Close()
		}
	}
	err = errors.Join(err, d.stop())
	result.Done = churn.done
	result.judge(err)
	return result, nil
}

// begin starts the region.
func begin(c *Churn, d *daemon) error {
	var err error
	for range 400 {
		if err = c.put(); err == nil {
			break
		}
		time.Sleep(25 * time.Millisecond)
	}
	if err != nil {
		return fmt.Errorf("%w; the route server said: %s", err, d.words())
	}
	var all sync.WaitGroup
	for _, p := range c.region.pes {
		p.announced = p.all
		all.Go(p.persist)
	}
	all.Wait()
	return nil
}

// disturb disturbs the region until the time is over. Once a minute it waits until everything settles, and compares the
// routes that each PE holds with the expected ones.
func disturb(ctx context.Context, p Plan, c *Churn, result *Result) error {
	end := time.Now().Add(time.Duration(p.Minutes * float64(time.Minute)))
	settle := time.Now().Add(time.Minute)
	if settle.After(end) {
		settle = end
	}
	for ctx.Err() == nil {
		if now := time.Now(); !now.Before(settle) {
			if err := c.audit(ctx); err != nil {
				return err
			}
			result.Audits++
			if !now.Before(end) {
				return nil
			}
			if settle = now.Add(time.Minute); settle.After(end) {
				settle = end
			}
		}
		if err := c.step(); err != nil {
			return err
		}
		time.Sleep(time.Duration(c.ExpFloat64() * float64(time.Second) / p.Rate))
	}
	return nil
}

// audit waits until every PE holds the expected routes, then asks the route server for the differences of three PEs.
func (c *Churn) audit(ctx context.Context) error {
	c.region.slow().asleep.Store(0)
	odd := ""
	for deadline := time.Now().Add(2 * time.Minute); ; {
		if odd = c.region.odd(); odd == "" {
			break
		}
		if time.Now().After(deadline) {
			held, err := c.call("GET", "/v1/held", nil)
			return errors.Join(fmt.Errorf("all is quiet for two minutes, but %s; held back: %s", odd, held), err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(50 * time.Millisecond):
		}
	}
	for _, p := range []*PE{c.region.slow(), c.pe(), c.pe()} {
		text, err := c.call("GET", "/v1/diff?peer="+name(p.site), nil)
		if err != nil {
			return err
		}
		var diff struct {
			Session     bool              `json:"session"`
			Differences []json.RawMessage `json:"differences"`
		}
		if err := json.Unmarshal(text, &diff); err != nil {
			return err
		}
		if len(diff.Differences) > 0 && !p.rogue {
			return fmt.Errorf("the route server says that PE %d is to have something else: %s", p.site, text)
		}
	}
	return nil
}

// keepalives keeps all sessions up.
func (r *Region) keepalives(ctx context.Context) {
	tick := time.NewTicker(20 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, p := range r.pes {
			p.say(func() []byte { return rawbgp.Message(rawbgp.TypeKeepalive, nil) })
		}
	}
}

// doze lets the slow PE ask for all routes many times and then read nothing for a while, again and again.
func (r *Region) doze(ctx context.Context) {
	p := r.slow()
	for {
		p.asleep.Store(time.Now().Add(stall).UnixNano())
		for range 20 {
			p.say(func() []byte { return refresh(p.family, 0) })
		}
		select {
		case <-ctx.Done():
			p.asleep.Store(0)
			return
		case <-time.After(stall + 20*time.Second):
		}
	}
}
