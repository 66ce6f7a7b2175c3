package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/session"
)

// serve opens BGP when the rule set may be served, and keeps it open until the context or the lease ends. After the end
// of the lease it waits for the controller or the twin again.
func serve(ctx context.Context, o *options, e *engine.Engine, sessions *session.Server, log *slog.Logger) error {
	for ctx.Err() == nil {
		if !allowed(ctx, o, e, log) {
			return nil
		}
		lease, end := context.WithCancel(ctx)
		if o.lease > 0 {
			go watch(lease, end, o, e)
		}
		err := sessions.Serve(lease)
		end()
		if err != nil || ctx.Err() != nil {
			return err
		}
		log.Warn("BGP is closed: neither the controller nor the twin was heard of", "for", o.lease)
	}
	return nil
}

// allowed waits until the rule set may be served: until the controller confirms it, or, after the wait, until a twin
// vouches for the same one. Without a lease the end of the wait is enough.
func allowed(ctx context.Context, o *options, e *engine.Engine, log *slog.Logger) bool {
	patience := time.NewTimer(o.confirmWait)
	defer patience.Stop()
	var again <-chan time.Time
	expired := false
	for {
		changed := e.Changed()
		generation, loaded, confirmed := e.Generation()
		if loaded && (confirmed || expired && (o.lease == 0 || time.Since(e.Vouched()) < o.lease)) {
			log.Info("BGP is open", "address", o.session.Listen, "generation", generation, "confirmed", confirmed)
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		case <-again:
		case <-patience.C:
			expired = true
			log.Info("waiting for the controller", "ruleset", loaded, "lease", o.lease)
			ticker := time.NewTicker(engine.Silence / 5)
			defer ticker.Stop()
			again = ticker.C
		}
	}
}

// watch ends the lease when nobody has vouched for the rule set for that time.
func watch(ctx context.Context, end context.CancelFunc, o *options, e *engine.Engine) {
	for {
		left := o.lease - time.Since(e.Vouched())
		if left <= 0 {
			e.Doubt()
			e.Events.Add("lease", "", fmt.Sprintf("neither the controller nor the twin was heard of for %s: BGP is closed", o.lease))
			end()
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(left):
		}
	}
}
