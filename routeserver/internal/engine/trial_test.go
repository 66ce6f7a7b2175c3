package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"weft/routeserver/internal/ruleset"
)

// trialEngine returns an engine with its store in a directory.
func trialEngine(t *testing.T, dir string) *Engine {
	t.Helper()
	store, err := ruleset.OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	e, err := New(Config{Name: "rs", ASN: 65000, RouterID: [4]byte{10, 0, 0, 254}}, store, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func pool(generation uint64, members ...string) *ruleset.Document {
	d := &ruleset.Document{Generation: generation, Peers: []ruleset.Peer{}, Endpoints: []ruleset.Endpoint{}}
	for i := range 3 {
		rt := fmt.Sprintf("65000:%d", i+1)
		d.Peers = append(d.Peers, ruleset.Peer{Name: fmt.Sprintf("pe%d", i), Address: fmt.Sprintf("10.0.0.%d", i+1), ASN: 65000})
		d.Endpoints = append(d.Endpoints, ruleset.Endpoint{Name: fmt.Sprintf("e%d", i), Peer: fmt.Sprintf("pe%d", i), Family: "l2vpn-vpls", RT: rt, RD: rt})
	}
	d.Vcps = []ruleset.Vcp{{Name: "pool", Members: members}}
	return d
}

func put(t *testing.T, e *Engine, d *ruleset.Document, within time.Duration) {
	t.Helper()
	if _, err := e.ReplaceOnTrial(d, false, within); err != nil {
		t.Fatal(err)
	}
}

func join(base uint64) *ruleset.Change {
	return &ruleset.Change{Base: base, Generation: base + 1, Ops: []ruleset.Operation{{Op: ruleset.Join, Pool: "pool", Member: "e2"}}}
}

// expect checks the generation, the members, and whether there is a trial.
func expect(t *testing.T, e *Engine, generation uint64, members string, trial bool) {
	t.Helper()
	g, _, _ := e.Generation()
	_, _, on := e.Trial()
	if have := strings.Join(e.Set().Members("pool"), " "); g != generation || have != members || on != trial {
		t.Fatalf("generation %d with %q, on trial: %v; want %d with %q, %v", g, have, on, generation, members, trial)
	}
}

func rolledBack(t *testing.T, e *Engine) {
	t.Helper()
	for {
		events, more := e.Events.After(0)
		if n := len(events); n > 0 && events[n-1].Kind == "rollback" {
			return
		}
		select {
		case <-more:
		case <-time.After(10 * time.Second):
			t.Fatal("nothing was rolled back")
		}
	}
}

func TestWhatIsNotConfirmedIsRolledBack(t *testing.T) {
	for name, change := range map[string]func(*Engine) error{
		"change": func(e *Engine) error { _, err := e.ChangeOnTrial(join(1), time.Millisecond); return err },
		"replacement": func(e *Engine) error {
			_, err := e.ReplaceOnTrial(pool(9, "e0", "e1", "e2"), false, time.Millisecond)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			e := trialEngine(t, dir)
			put(t, e, pool(1, "e0", "e1"), 0)
			if err := change(e); err != nil {
				t.Fatal(err)
			}
			rolledBack(t, e)
			expect(t, e, 1, "e0 e1", false)
			expect(t, trialEngine(t, dir), 1, "e0 e1", false) // the disk agrees
			if _, err := e.Change(join(1)); err != nil {
				t.Fatal(err) // the generation's number is free again
			}
			expect(t, trialEngine(t, dir), 2, "e0 e1 e2", false)
		})
	}
}

func TestWhatIsConfirmedStays(t *testing.T) {
	full := pool(2, "e0", "e1", "e2")
	for name, confirm := range map[string]func(*Engine) error{
		"confirmed":    func(e *Engine) error { return e.Confirm(2) },
		"put again":    func(e *Engine) error { _, err := e.Replace(full, false); return err },
		"after a kill": func(*Engine) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			e := trialEngine(t, dir)
			put(t, e, pool(1, "e0", "e1"), 0)
			if _, err := e.ChangeOnTrial(join(1), time.Hour); err != nil {
				t.Fatal(err)
			}
			expect(t, e, 2, "e0 e1 e2", true)
			if name == "after a kill" {
				e = trialEngine(t, dir)
				expect(t, e, 2, "e0 e1 e2", true)
				e.RunTrial()
				if err := e.Confirm(2); err != nil {
					t.Fatal(err)
				}
			} else {
				put(t, e, full, time.Hour) // a repetition on trial is not a confirmation
				expect(t, e, 2, "e0 e1 e2", true)
			}
			if err := confirm(e); err != nil {
				t.Fatal(err)
			}
			expect(t, e, 2, "e0 e1 e2", false)
			expect(t, trialEngine(t, dir), 2, "e0 e1 e2", false)
		})
	}
}

func TestATrialOutlivesTheProcess(t *testing.T) {
	dir := t.TempDir()
	e := trialEngine(t, dir)
	put(t, e, pool(1, "e0", "e1"), 0)
	if _, err := e.ChangeOnTrial(join(1), 300*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	e.trial.timer.Stop()         // as in a process that is killed
	again := trialEngine(t, dir) // the old one did not clean up
	expect(t, again, 2, "e0 e1 e2", true)
	again.RunTrial()
	rolledBack(t, again)
	expect(t, again, 1, "e0 e1", false)

	put(t, again, pool(3, "e0", "e1", "e2"), time.Nanosecond)
	rolledBack(t, again)
	late := t.TempDir() // a trial that is over before the start
	e = trialEngine(t, late)
	put(t, e, pool(4, "e2"), 0)
	store, err := ruleset.OpenStore(late)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.SaveTrial(e.Set(), again.Set(), time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	e = trialEngine(t, late)
	rolledBack(t, e)
	expect(t, e, 1, "e0 e1", false)
}

func TestWhatATrialRefuses(t *testing.T) {
	e := trialEngine(t, t.TempDir())
	var bad *ruleset.Invalid
	if _, err := e.ReplaceOnTrial(pool(1), false, time.Hour); !errors.As(err, &bad) {
		t.Errorf("a trial without anything to fall back to: %v", err)
	}
	put(t, e, pool(1, "e0"), 0)
	if _, err := e.ChangeOnTrial(join(1), time.Hour); err != nil {
		t.Fatal(err)
	}
	var conflict *Conflict
	if _, err := e.Change(&ruleset.Change{Base: 2, Generation: 3}); !errors.As(err, &conflict) {
		t.Errorf("a change on top of a trial: %v", err)
	}
	if _, err := e.ReplaceOnTrial(pool(3), false, time.Hour); !errors.As(err, &conflict) {
		t.Errorf("a trial on top of a trial: %v", err)
	}
	put(t, e, pool(3, "e1"), 0) // a whole rule set ends the trial
	expect(t, e, 3, "e1", false)
}
