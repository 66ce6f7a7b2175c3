package control_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/control"
	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/session"
)

// house is a whole route server: control API over HTTP, BGP on a loopback address.
type house struct {
	t      *testing.T
	url    string
	bgp    string
	engine *engine.Engine
	server *control.Server
}

func build(t *testing.T) *house {
	t.Helper()
	store, err := ruleset.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.77.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listen := netip.MustParseAddrPort(l.Addr().String())
	l.Close()
	var sessions *session.Server
	id := [4]byte{10, 0, 0, 200}
	e, err := engine.New(engine.Config{Name: "rs1", ASN: 65000, RouterID: id, ClusterID: id}, store, func(s *ruleset.Set, peers []string) { sessions.Reconcile(s, peers) })
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	sessions = session.New(session.Config{Listen: listen}, e, log)
	api := &control.Server{Engine: e, Sessions: sessions, Token: "secret", Started: time.Now(), Log: log}
	server := httptest.NewServer(api.Handler())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- sessions.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		server.CloseClientConnections()
		server.Close()
		store.Close()
	})
	for !sessions.Serving() {
		time.Sleep(time.Millisecond)
	}
	return &house{t, server.URL, listen.String(), e, api}
}

// do calls the API and returns status and body.
func (h *house) do(method, path, body string) (int, string) {
	h.t.Helper()
	request, err := http.NewRequest(method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer secret")
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		h.t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return reply.StatusCode, string(text)
}

func (h *house) must(method, path, body string, into any) {
	h.t.Helper()
	status, text := h.do(method, path, body)
	if status != http.StatusOK {
		h.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		h.t.Fatalf("%s %s: %v in %s", method, path, err, text)
	}
}

const rules = `{"generation": 5, "peers": [{"name": "a", "address": "127.0.77.11", "asn": 65000}, {"name": "b", "address": "127.0.77.12", "asn": 65000}],
"endpoints": [{"name": "ea", "peer": "a", "family": "l2vpn-vpls", "rt": "65000:1", "rd": "65000:1"},
{"name": "eb", "peer": "b", "family": "l2vpn-vpls", "rt": "65000:2", "rd": "65000:2"}],
"vcps": [{"name": "pool", "members": ["ea", "eb"]}]}`

func TestErrors(t *testing.T) {
	h := build(t)
	if status, _ := h.do("GET", "/v1/ruleset", ""); status != 404 {
		t.Errorf("a rule set that is not there: %d", status)
	}
	h.must("PUT", "/v1/ruleset", rules, &struct{}{})
	for _, c := range []struct {
		method, path, body string
		status             int
		code, field        string
	}{
		{"PUT", "/v1/ruleset", `{`, 400, "invalid", ""},
		{"PUT", "/v1/ruleset", strings.Replace(rules, "127.0.77.12", "127.0.77.11", 1), 400, "invalid", "peers[1].address"},
		{"PUT", "/v1/ruleset", strings.Replace(rules, `"asn": 65000}, {`, `"asn": 23456}, {`, 1), 400, "invalid", "peers[0].asn"},
		{"PUT", "/v1/ruleset", strings.Replace(rules, ": 5", ": 4", 1), 409, "generation", ""},
		{"PUT", "/v1/ruleset", strings.Replace(rules, `"ea", "eb"`, `"ea"`, 1), 409, "generation", ""},
		{"PUT", "/v1/ruleset?force=maybe", rules, 400, "invalid", "force"},
		{"PUT", "/v1/ruleset?confirm_within=0", rules, 400, "invalid", "confirm_within"},
		{"POST", "/v1/changes?confirm_within=x", `{}`, 400, "invalid", "confirm_within"},
		{"POST", "/v1/changes", `{"base": 4, "generation": 5, "ops": []}`, 409, "generation", ""},
		{"POST", "/v1/changes", `{"base": 5, "generation": 5, "ops": []}`, 400, "invalid", "generation"},
		{"POST", "/v1/changes", `{"base": 5, "generation": 6, "ops": [{"op": "join", "vcp": "pool", "endpoint": "zz"}]}`, 400, "invalid", "ops[0].endpoint"},
		{"POST", "/v1/confirm", `{"generation": 6}`, 409, "generation", ""},
		{"POST", "/v1/confirm", `{}`, 400, "invalid", "generation"},
		{"GET", "/v1/routes?table=x", "", 400, "invalid", "table"},
		{"GET", "/v1/routes?family=x", "", 400, "invalid", "family"},
		{"GET", "/v1/routes?rt=x", "", 400, "invalid", "rt"},
		{"GET", "/v1/routes?limit=0", "", 400, "invalid", "limit"},
		{"GET", "/v1/explain?from=ea", "", 400, "invalid", "to"},
		{"GET", "/v1/explain?from=ea&to=zz", "", 404, "not-found", ""},
		{"GET", "/v1/events?after=x", "", 400, "invalid", "after"},
		{"GET", "/v1/diff", "", 400, "invalid", "peer"},
		{"GET", "/v1/diff?peer=zz", "", 404, "not-found", ""},
		{"DELETE", "/v1/ruleset", "", 405, "method", ""},
		{"GET", "/v2", "", 404, "not-found", ""},
	} {
		status, text := h.do(c.method, c.path, c.body)
		var body struct {
			Error struct{ Code, Field, Message string }
		}
		if err := json.Unmarshal([]byte(text), &body); err != nil {
			t.Errorf("%s %s: %v in %s", c.method, c.path, err, text)
		}
		if status != c.status || body.Error.Code != c.code || body.Error.Field != c.field || body.Error.Message == "" {
			t.Errorf("%s %s %.40s: %d %s", c.method, c.path, c.body, status, text)
		}
	}
	if g, _, _ := h.engine.Generation(); g != 5 {
		t.Errorf("generation %d is in force after nothing but errors", g)
	}
	var receipt engine.Receipt
	h.must("PUT", "/v1/ruleset", rules, &receipt) // again
	h.must("PUT", "/v1/ruleset?force=true", strings.Replace(rules, ": 5", ": 3", 1), &receipt)
	if receipt.Generation != 3 || receipt.Previous != 5 {
		t.Errorf("receipt %+v", receipt)
	}
}

func TestWhoTriesTokensIsNotAnsweredForLong(t *testing.T) {
	h := build(t)
	answers := map[int]int{}
	for range 400 {
		request, _ := http.NewRequest("GET", h.url+"/v1/status", nil)
		request.Header.Set("Authorization", "Bearer wrong")
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		reply.Body.Close()
		if reply.StatusCode == http.StatusTooManyRequests && reply.Header.Get("Retry-After") == "" {
			t.Fatal("it does not say when to come back")
		}
		answers[reply.StatusCode]++
	}
	if answers[http.StatusUnauthorized] < 200 || answers[http.StatusTooManyRequests] == 0 {
		t.Errorf("answers: %v", answers)
	}
	if status, text := h.do("GET", "/v1/status", ""); status != http.StatusOK {
		t.Errorf("with the token: %d %s", status, text)
	}
}

func TestTheTokenIsNeeded(t *testing.T) {
	h := build(t)
	for _, token := range []string{"", "Bearer", "Bearer wrong", "Bearer secretsecret"} {
		for _, path := range []string{"/v1/status", "/metrics", "/v1/ruleset", "/nothing"} {
			request, _ := http.NewRequest("GET", h.url+path, nil)
			request.Header.Set("Authorization", token)
			reply, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			reply.Body.Close()
			if reply.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s with %q: %d", path, token, reply.StatusCode)
			}
		}
	}
	h.server.MetricsToken = "reader"
	for path, want := range map[string]int{"/metrics": 200, "/v1/status": 401, "/metrics/": 401, "/v1/ruleset": 401} {
		request, _ := http.NewRequest("GET", h.url+path, nil)
		request.Header.Set("Authorization", "Bearer reader")
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		reply.Body.Close()
		if reply.StatusCode != want {
			t.Errorf("%s with the token for metrics: %d", path, reply.StatusCode)
		}
	}
	reply, err := http.Get(h.url + "/healthz")
	if err != nil || reply.StatusCode != 200 {
		t.Errorf("healthz: %v, %v", reply, err)
	}
	reply.Body.Close()
}

func TestRoutesExplainStatusEventsAndMetrics(t *testing.T) {
	h := build(t)
	h.must("PUT", "/v1/ruleset", rules, &struct{}{})
	a := petest.Dial(t, petest.Options{Local: "127.0.77.11", Remote: h.bgp})
	b := petest.Dial(t, petest.Options{Local: "127.0.77.12", Remote: h.bgp})
	n := petest.VPLS(t, "65000:1", 1, 1, 64, 4097)
	foreign := petest.VPLS(t, "65000:1", 9, 1, 64, 4097)
	a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{n}, []string{"65000:1"}))
	a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{foreign}, []string{"65000:2"}))
	b.Has(map[string]string{n.String(): "65000:2"})
	var list struct {
		Routes    []map[string]any
		Truncated bool
	}
	b.Until("the quarantined route", func() bool {
		h.must("GET", "/v1/routes?table=quarantine", "", &list)
		return len(list.Routes) == 1 && list.Routes[0]["reason"] == "foreign-rt"
	})
	h.must("GET", "/v1/routes?table=adj-out&peer=b&rt=65000:2&family=l2vpn-vpls&endpoint=ea", "", &list)
	if len(list.Routes) != 1 {
		t.Fatalf("adj-out has %v", list.Routes)
	}
	route := list.Routes[0]
	if route["to"] != "b" || route["sent_at"] == nil || route["rd"] != "65000:1" || route["next_hop"] != "192.0.2.9" ||
		fmt.Sprint(route["rts"]) != "[65000:2]" || fmt.Sprint(route["details"]) != "map[label_base:4097 offset:1 size:64 ve_id:1]" {
		t.Errorf("adj-out has %v", route)
	}
	h.must("GET", "/v1/routes?limit=1", "", &list)
	if len(list.Routes) != 1 || !list.Truncated {
		t.Errorf("limited: %v", list)
	}

	explain := func(query, verdict, text string) {
		t.Helper()
		var x struct{ Verdict, Text string }
		h.must("GET", "/v1/explain?"+query, "", &x)
		if x.Verdict != verdict || !strings.Contains(x.Text, text) {
			t.Errorf("%s: %+v", query, x)
		}
	}
	explain("from=ea&to=eb", "partly", "sent to b with route target 65000:2; 1 of 2 routes in quarantine") // 65000:1:9, see below
	explain("from=ea&to=eb&nlri=65000:1:1", "sent", "sent to b with route target 65000:2")
	explain("from=ea&to=eb&nlri=65000:1:9", "quarantined", "foreign-rt")
	explain("from=eb&to=ea", "not-sent", "b has announced no route of eb")
	h.must("POST", "/v1/changes", `{"base": 5, "generation": 6, "ops": [{"op": "leave", "vcp": "pool", "endpoint": "eb"}]}`, &struct{}{})
	explain("from=ea&to=eb&nlri=65000:1:1", "not-sent", "share no VCP; the route was withdrawn")
	h.must("POST", "/v1/changes", `{"base": 6, "generation": 7, "ops": [{"op": "join", "vcp": "pool", "endpoint": "eb"}]}`, &struct{}{})
	b.Conn.Close()
	b.Closed()
	a.Until("the end of b", func() bool {
		var s struct {
			Sessions []struct{ Peer, State string }
		}
		h.must("GET", "/v1/status", "", &s)
		return s.Sessions[0].State == "established" && s.Sessions[1].State == "active"
	})
	explain("from=ea&to=eb&nlri=65000:1:1", "not-sent", "b of endpoint eb has no session")

	status, text := h.do("GET", "/metrics", "")
	for _, line := range []string{"weft_routeserver_generation 7", `weft_routeserver_peer_session_up{peer="a"} 1`, `weft_routeserver_peer_session_up{peer="b"} 0`, `weft_routeserver_peer_routes_quarantined{peer="a",reason="foreign-rt"} 1`} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("metrics (%d) lack %s", status, line)
		}
	}
	kinds := h.events(t, "0", 6)
	if want := "generation session-up session-up quarantined generation generation"; strings.Join(kinds, " ") != want {
		t.Errorf("events %v", kinds)
	}
	if kinds := h.events(t, "6", 1); kinds[0] != "session-down" {
		t.Errorf("after the sixth: %v", kinds)
	}
}

// events returns the kinds of the first n events of a stream.
func (h *house) events(t *testing.T, after string, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	request, _ := http.NewRequestWithContext(ctx, "GET", h.url+"/v1/events?after="+after, nil)
	request.Header.Set("Authorization", "Bearer secret")
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	var kinds []string
	lines := bufio.NewScanner(reply.Body)
	for len(kinds) < n && lines.Scan() {
		if kind, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
