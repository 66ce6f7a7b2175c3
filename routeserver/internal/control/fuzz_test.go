package control_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"weft/routeserver/internal/control"
	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/session"
	"weft/routeserver/internal/wire"
)

// desk is a control API without a network, with a rule set and a PE that has announced a route.
type desk struct {
	engine  *engine.Engine
	handler http.Handler
	rules   *ruleset.Document
}

func newDesk(t testing.TB) *desk {
	store, err := ruleset.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	d := &desk{}
	d.engine, err = engine.New(engine.Config{Name: "rs1", ASN: 65000, RouterID: [4]byte{10, 0, 0, 200}, ReceiptWait: time.Nanosecond}, store, nil)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	api := &control.Server{Engine: d.engine, Sessions: session.New(session.Config{}, d.engine, log), Token: "secret", Started: time.Now(), Log: log}
	d.handler = api.Handler()
	if d.rules, err = ruleset.DecodeDocument([]byte(rules)); err != nil {
		t.Fatal(err)
	}
	d.reset(t)
	var families [wire.Families]bool
	families[wire.VPLS], families[wire.EVPN] = true, true
	for i, peer := range d.rules.Peers {
		d.engine.Up(peer, [4]byte{192, 0, 2, byte(i + 1)}, families)
	}
	return d
}

// reset puts the initial rule set of every round in force.
func (d *desk) reset(t testing.TB) {
	if _, err := d.engine.Replace(d.rules, true); err != nil {
		t.Fatal(err)
	}
}

// standing is the state that a refused request must not change.
type standing struct {
	document *ruleset.Document
	fallback uint64
	trial    bool
}

func (d *desk) standing() standing {
	_, fallback, trial := d.engine.Trial()
	return standing{d.engine.Set().Document(), fallback, trial}
}

// FuzzAPI checks that no request makes the API panic or answer with 5xx; that answers are JSON; that a refusal gives a
// reason and changes nothing; and that memory is in proportion.
func FuzzAPI(f *testing.F) {
	for _, path := range []string{
		"/v1/status", "/v1/standing", "/v1/ruleset", "/v1/routes?table=adj-out&peer=b&rt=65000:2&family=l2vpn-vpls&limit=5", "/v1/routes?prefix=10.0.0.0/8&mac=02:00:00:00:00:01&pool=pool",
		"/v1/explain?from=ea&to=eb&nlri=1", "/v1/watch?peer=a", "/v1/diff?peer=a", "/v1/events?after=1", "/metrics", "/healthz", "/v2", "//", "/v1/../v1/status",
	} {
		f.Add("GET", path, "")
	}
	f.Add("PUT", "/v1/ruleset?force=true&confirm_within=60", rules)
	f.Add("PUT", "/v1/ruleset", strings.Replace(rules, ": 5", ": 6", 1))
	f.Add("POST", "/v1/changes?confirm_within=5", `{"base": 5, "generation": 6, "ops": [{"op": "leave", "vcp": "pool", "endpoint": "eb"}]}`)
	f.Add("POST", "/v1/changes", `{"base": 5, "generation": 7, "dry_run": true, "ops": [{"op": "set-vcp", "vcp": {"name": "p", "members": ["ea"]}}]}`)
	f.Add("POST", "/v1/changes", `{"base": 5, "generation": 6, "ops": [{"op": "join", "vcp": "pool", "endpoint": "zz"}]}`)
	f.Add("POST", "/v1/confirm", `{"generation": 5}`)
	f.Add("POST", "/v1/heartbeat", `{"generation": 5}`)
	f.Add("DELETE", "/v1/ruleset", "")
	d := newDesk(f)
	over, cancel := context.WithCancel(context.Background())
	cancel() // streams end after the present events
	before := d.standing()
	f.Fuzz(func(t *testing.T, method, target, body string) {
		request, err := http.NewRequestWithContext(over, method, "http://rs1"+target, strings.NewReader(body))
		if err != nil || request.URL.Host != "rs1" {
			return
		}
		request.Header.Set("Authorization", "Bearer secret")
		answer := httptest.NewRecorder()
		at := time.Now()
		d.handler.ServeHTTP(answer, request)
		if took := time.Since(at); took > 5*time.Second {
			t.Fatalf("that took %s", took)
		}
		status, text := answer.Code, answer.Body.String()
		if status >= 500 || status < 200 {
			t.Fatalf("%s %q: %d %s", method, target, status, text)
		}
		if strings.HasPrefix(answer.Header().Get("Content-Type"), "application/json") && !json.Valid([]byte(text)) {
			t.Fatalf("%s %q: %s is not JSON", method, target, text)
		}
		if len(text) > 1<<20+64*len(body) {
			t.Fatalf("%s %q: %d bytes in the answer", method, target, len(text))
		}
		if after := d.standing(); status == http.StatusOK && method != "GET" {
			d.reset(t)
		} else if !reflect.DeepEqual(before, after) {
			t.Fatalf("%s %q: %d, and yet there is %+v", method, target, status, after)
		}
		if status >= 400 {
			var refusal struct {
				Error struct{ Code, Message string }
			}
			if err := json.Unmarshal([]byte(text), &refusal); err != nil || refusal.Error.Code == "" || refusal.Error.Message == "" {
				t.Fatalf("%s %q: %d says %q: %v", method, target, status, text, err)
			}
		}
	})
}
