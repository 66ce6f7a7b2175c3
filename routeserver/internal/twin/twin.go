// Package twin keeps a route server in step with its twin, the other route server of the pair, when the controller
// cannot: after a start, and while the controller does not reach this one.
//
// The controller gives each generation once. So the higher of two is the later one, and a route server that does not
// hear the controller adopts it; none ever goes back.
package twin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"weft/routeserver/identity"
	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/ruleset"
)

// Standing is a route server's own account of its rule set, as the control API gives it.
type Standing struct {
	Name       string `json:"name"`
	Generation uint64 `json:"generation"`
	Loaded     bool   `json:"loaded"`
	InTouch    bool   `json:"in_touch"` // with the controller
	OnTrial    bool   `json:"on_trial"`
}

// Of returns the standing of an engine.
func Of(e *engine.Engine) Standing {
	generation, loaded, _ := e.Generation()
	_, _, trial := e.Trial()
	return Standing{e.Name, generation, loaded, e.InTouch(), trial}
}

const (
	interval = time.Second // between two queries
	patience = 3 * time.Second
	longest  = 64 << 20
)

// Twin is the paired route server, as seen from here.
type Twin struct {
	url, token string
	engine     *engine.Engine
	client     http.Client

	mu     sync.Mutex
	seen   Standing
	failed error // nil: it answers
	warned uint64
}

// New makes a twin at the base URL of its control API. If there is a `host` identity, it connects by TLS with that.
func New(url, token string, e *engine.Engine, host *identity.Identity) *Twin {
	transport := &http.Transport{IdleConnTimeout: time.Minute} // no proxy
	if host != nil {
		transport.DialTLSContext = host.Dial
	}
	return &Twin{
		url: strings.TrimRight(url, "/"), token: token, engine: e, failed: errors.New("not asked yet"),
		client: http.Client{Timeout: patience, Transport: transport},
	}
}

// Seen returns the twin's last standing, and the error if the last query failed.
func (t *Twin) Seen() (Standing, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen, t.failed
}

// Run queries the twin once a second until the context ends.
func (t *Twin) Run(ctx context.Context) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		err := t.look(ctx)
		if ctx.Err() != nil {
			return
		}
		t.note(err)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (t *Twin) note(err error) {
	t.mu.Lock()
	was := t.failed
	t.failed = err
	t.mu.Unlock()
	switch {
	case err == nil && was != nil:
		t.engine.Events.Add("twin", "", "the twin answers at "+t.url)
	case err != nil && was == nil:
		t.engine.Events.Add("twin", "", fmt.Sprintf("the twin does not answer: %s", err))
	}
}

// look asks the twin for its standing, adopts its rule set if verdict says so, and records that both have the same one.
func (t *Twin) look(ctx context.Context) error {
	theirs, err := t.ask(ctx)
	if err == nil && theirs.Name == t.engine.Name {
		err = fmt.Errorf("%s is called %s, as this route server is", t.url, theirs.Name)
	}
	if err != nil {
		return err
	}
	switch verdict(Of(t.engine), theirs) {
	case adopt:
		if theirs, err = t.adopt(ctx); err != nil {
			return err
		}
	case contradict:
		t.contradict(theirs)
	}
	if !theirs.OnTrial {
		t.engine.Vouch(theirs.Generation, theirs.InTouch)
	}
	return nil
}

type decision int

const (
	leave      decision = iota
	adopt               // the twin's rule set
	contradict          // the controller gives the twin an older generation than it gave us
)

// verdict decides what to do about a twin. While the controller is in touch with us, the twin does not matter: it may
// be ahead for a moment, by a change that is on its way to us too.
func verdict(ours, theirs Standing) decision {
	switch {
	case ours.InTouch || !theirs.Loaded:
		return leave
	case !ours.Loaded || theirs.Generation > ours.Generation:
		if theirs.OnTrial || ours.OnTrial {
			return leave // it may be rolled back in a moment
		}
		return adopt
	case theirs.Generation < ours.Generation && theirs.InTouch:
		return contradict
	}
	return leave
}

func (t *Twin) ask(ctx context.Context) (s Standing, err error) {
	if err = t.get(ctx, "/v1/standing", func(data []byte) error { return json.Unmarshal(data, &s) }); err == nil {
		t.mu.Lock()
		t.seen = s
		t.mu.Unlock()
	}
	return s, err
}

func (t *Twin) adopt(ctx context.Context) (Standing, error) {
	var document *ruleset.Document
	err := t.get(ctx, "/v1/ruleset", func(data []byte) (err error) {
		document, err = ruleset.DecodeDocument(data)
		return err
	})
	if err != nil {
		return Standing{}, err
	}
	theirs, err := t.ask(ctx) // a trial may have begun in the meantime
	if err != nil || theirs.OnTrial || theirs.Generation != document.Generation {
		return theirs, err
	}
	receipt, err := t.engine.Adopt(document)
	if conflict := (*engine.Conflict)(nil); errors.As(err, &conflict) {
		return theirs, nil // the controller was faster
	} else if err != nil {
		return theirs, err
	}
	t.engine.Events.Add("twin", "", fmt.Sprintf("the controller is silent; generation %d was taken over from %s: %d announced, %d withdrawn",
		receipt.Generation, theirs.Name, receipt.Announced, receipt.Withdrawn))
	return theirs, nil
}

// contradict reports, once per generation, that the controller goes on below our generation: its database is an old copy.
func (t *Twin) contradict(theirs Standing) {
	if t.warned == theirs.Generation {
		return
	}
	t.warned = theirs.Generation
	ours, _, _ := t.engine.Generation()
	t.engine.Events.Add("twin-behind", "", fmt.Sprintf("the controller gives %s generation %d, but has given %d here, and does not reach this route server",
		theirs.Name, theirs.Generation, ours))
}

func (t *Twin) get(ctx context.Context, path string, take func([]byte) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+t.token)
	reply, err := t.client.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	data, err := io.ReadAll(io.LimitReader(reply.Body, longest))
	if err != nil {
		return err
	}
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s%s: %s", t.url, path, reply.Status)
	}
	if err := take(data); err != nil {
		return fmt.Errorf("%s%s: %w", t.url, path, err)
	}
	return nil
}
