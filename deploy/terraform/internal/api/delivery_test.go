package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"
)

func said(status int, after string) outcome {
	header := http.Header{}
	if after != "" {
		header.Set("Retry-After", after)
	}
	return outcome{status: status, header: header}
}

var (
	lost   = outcome{err: errors.New("reset"), written: true}
	absent = outcome{err: errors.New("refused")}
)

// delivered returns the last outcome of a request that gets these in turn, how often it was sent, and the waits in seconds.
func delivered(t *testing.T, reads bool, outcomes ...outcome) (outcome, *delivery, []int) {
	t.Helper()
	waited := []int{}
	way := &delivery{reads: reads, now: time.Now, wait: func(_ context.Context, pause time.Duration) error {
		waited = append(waited, int(pause/time.Second))
		return nil
	}}
	way.send = func() outcome {
		if way.attempts > len(outcomes) {
			t.Fatal("it is sent too often")
		}
		return outcomes[way.attempts-1]
	}
	return way.answer(t.Context()), way, waited
}

func TestRequestsAreSentAgain(t *testing.T) {
	for name, one := range map[string]struct {
		reads    bool
		outcomes []outcome
		status   int
		waited   []int
	}{
		"a busy controller":           {true, []outcome{said(429, "3"), said(503, "1"), said(200, "")}, 200, []int{3, 1}},
		"a change at a busy one":      {false, []outcome{said(503, "2"), said(201, "")}, 201, []int{2}},
		"a lost answer":               {false, []outcome{lost, absent, said(201, "")}, 201, []int{1, 2}},
		"the first is under way":      {false, []outcome{lost, said(409, "1"), said(201, "")}, 201, []int{1, 1}},
		"patience has an end":         {false, []outcome{lost, lost, lost, lost}, 0, []int{1, 2, 4}},
		"a lost answer to a question": {true, []outcome{lost}, 0, []int{}},
		"a controller that is away":   {false, []outcome{absent}, 0, []int{}},
		"a conflict":                  {false, []outcome{said(409, "1")}, 409, []int{}},
		"no time is asked for":        {true, []outcome{said(503, "")}, 503, []int{}},
		"no number":                   {true, []outcome{said(503, "soon")}, 503, []int{}},
		"a long time is asked for":    {true, []outcome{said(503, "11")}, 503, []int{}},
		"a failure":                   {false, []outcome{said(500, "1")}, 500, []int{}},
	} {
		t.Run(name, func(t *testing.T) {
			found, way, waited := delivered(t, one.reads, one.outcomes...)
			if found.status != one.status || !slices.Equal(waited, one.waited) || way.attempts != len(one.outcomes) {
				t.Errorf("status %d after %d attempts and waits of %v", found.status, way.attempts, waited)
			}
		})
	}
}

func TestALateControllerIsNotAskedAgain(t *testing.T) {
	seconds := int64(0)
	way := &delivery{send: func() outcome { return lost }, wait: sleep}
	way.now = func() time.Time { seconds += 180; return time.Unix(seconds, 0) }
	if way.answer(t.Context()); way.attempts != 1 {
		t.Errorf("%d attempts", way.attempts)
	}
}

func TestAnInterruptEndsTheWait(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	way := &delivery{now: time.Now, wait: sleep, send: func() outcome { cancel(); return lost }}
	if way.answer(ctx); way.attempts != 1 {
		t.Errorf("%d attempts", way.attempts)
	}
	if err := sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
