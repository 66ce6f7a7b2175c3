package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"
)

const (
	attempts = 4
	longest  = 10 * time.Second  // of a wait; a controller that asks for a longer one is not asked again
	patience = 120 * time.Second // after the first attempt; then no other begins
)

// outcome is the end of one attempt: an answer, or an error. written: the controller may have got the request.
type outcome struct {
	status  int
	header  http.Header
	body    []byte
	err     error
	written bool
}

func (o outcome) lost() bool   { return o.err != nil && o.written }
func (o outcome) absent() bool { return o.err != nil && !o.written }

// delivery is one request until its answer. The controller makes a change with an Idempotency-Key once, however often it
// comes, and repeats its answer: a change is sent again after 429, 503 and a lost answer, a reading request after 429
// and 503. The rules are those of `weft` (controller/cli/retries.py).
type delivery struct {
	send     func() outcome
	wait     func(context.Context, time.Duration) error
	now      func() time.Time
	reads    bool
	attempts int
	doubtful bool // an attempt may have made the change without a word
}

// answer returns the last outcome.
func (d *delivery) answer(ctx context.Context) outcome {
	began := d.now()
	for {
		found := d.attempt()
		pause, again := d.pause(found)
		if !again || d.attempts == attempts || ctx.Err() != nil || d.now().Sub(began) > patience {
			return found
		}
		tflog.Info(ctx, "the controller is asked again", map[string]any{"status": found.status, "after": pause.String()})
		if d.wait(ctx, pause) != nil {
			return found
		}
	}
}

func (d *delivery) attempt() outcome {
	d.attempts++
	found := d.send()
	if !d.reads && (found.lost() || found.status == http.StatusServiceUnavailable) {
		d.doubtful = true
	}
	return found
}

// pause returns how long to wait before the request is sent again, and whether it is to be.
func (d *delivery) pause(found outcome) (time.Duration, bool) {
	if found.err != nil {
		again := !d.reads && (found.lost() || (d.doubtful && found.absent()))
		return time.Second << (d.attempts - 1), again
	}
	later := []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}
	if !d.reads && d.doubtful {
		later = append(later, http.StatusConflict) // the first is under way
	}
	asked, err := strconv.ParseUint(found.header.Get("Retry-After"), 10, 16)
	pause := time.Duration(asked) * time.Second
	return pause, err == nil && pause <= longest && slices.Contains(later, found.status)
}

// sleep waits, or returns why it does not.
func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
