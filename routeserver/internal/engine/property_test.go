package engine

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Flags of the test of the isolation invariant. Worlds of some PEs, endpoints and pools take random steps. After each step
// the test compares the engine's Adj-RIB-Out, and what the PEs make of the bytes that they were sent, with a second model
// (model_test.go).
//
// A step depends only on the seed and its number, and is left out where it makes no sense. So a failing run can be
// shortened: steps are left out as long as the run still fails.
var (
	firstSeed  = flag.Uint64("seed", 1, "`seed` of the first world; the others follow")
	worlds     = flag.Int("worlds", 40, "`number` of worlds")
	worldSteps = flag.Int("steps", 600, "`number` of steps in each world")
	shrinkTime = flag.Duration("shrink", 30*time.Second, "`time` for cutting a failing run down")
)

// trouble is the failure of a world.
type trouble string

// strict turns a world's failures into panics, so that a world can be tried again.
type strict struct{ testing.TB }

func (strict) Fatal(args ...any)                 { panic(trouble(fmt.Sprint(args...))) }
func (strict) Fatalf(format string, args ...any) { panic(trouble(fmt.Sprintf(format, args...))) }
func (strict) Errorf(format string, args ...any) { panic(trouble(fmt.Sprintf(format, args...))) }
func (strict) Helper()                           {}

// play takes a world's steps. It returns what went wrong, if anything did, and the steps done until then.
func play(t testing.TB, seed uint64, steps []int) (wrong string, done []string) {
	var w *world
	defer func() {
		if w != nil {
			w.close()
			done = append(done, "the last change was"+w.doing)
		}
		switch x := recover().(type) {
		case nil:
		case trouble:
			wrong = string(x)
		default:
			wrong = fmt.Sprintf("panic: %v\n%s", x, debug.Stack())
		}
	}()
	w = newWorld(strict{t}, seed)
	for _, n := range steps {
		w.r = rand.New(rand.NewPCG(seed, uint64(n)))
		done = append(done, fmt.Sprintf("%d: begun", n))
		text := w.step()
		done[len(done)-1] = fmt.Sprintf("%d: %s", n, text)
		w.check(text)
	}
	return "", done
}

// shrink leaves out half of the steps at a time, then a quarter, and so on, as long as the run fails without them. Map
// orders do not depend on the seed, so each part gets a few chances to fail.
func shrink(t testing.TB, seed uint64, steps []int) (wrong string, done []string) {
	fails := func(steps []int) bool {
		for range 3 {
			if text, list := play(t, seed, steps); text != "" {
				wrong, done = text, list
				return true
			}
		}
		return false
	}
	deadline := time.Now().Add(*shrinkTime)
	for size := len(steps) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(steps) && time.Now().Before(deadline); {
			if rest := slices.Concat(steps[:at], steps[at+size:]); fails(rest) {
				steps = rest
			} else {
				at += size
			}
		}
	}
	return wrong, done
}

func TestEngineAgainstNaiveModel(t *testing.T) {
	begun := time.Now()
	var taken, finished atomic.Int64
	each, count := *worldSteps, *worlds
	if testing.Short() {
		count = 4
	}
	t.Run("worlds", func(t *testing.T) {
		for i := range count {
			seed := *firstSeed + uint64(i)
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				steps := make([]int, each)
				for n := range steps {
					steps[n] = n
				}
				wrong, done := play(t, seed, steps)
				taken.Add(int64(len(done)))
				if n := finished.Add(1); n%50 == 0 {
					fmt.Printf("%d of %d worlds, %d steps, %s\n", n, count, taken.Load(), time.Since(begun).Round(time.Second))
				}
				if wrong == "" {
					return
				}
				short, kept := shrink(t, seed, steps[:len(done)-1])
				if short == "" {
					t.Fatalf("seed %d, step %d (not seen a second time): %s\nthe last steps:\n%s", seed, len(done)-1, wrong, strings.Join(done[max(0, len(done)-40):], "\n"))
				}
				t.Fatalf("seed %d: %s\nthese steps are enough:\n%s\nagain: go test ./internal/engine -run %s -worlds 1 -seed %d -steps %d",
					seed, short, strings.Join(kept, "\n"), "TestEngineAgainstNaiveModel", seed, len(done))
			})
		}
	})
	t.Logf("%d steps in %d worlds from seed %d on, %s", taken.Load(), count, *firstSeed, time.Since(begun).Round(time.Millisecond))
}
