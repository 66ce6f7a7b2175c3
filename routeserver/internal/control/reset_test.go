package control_test

import (
	"encoding/json"
	"strings"
	"testing"

	"weft/routeserver/internal/petest"
)

func TestReset(t *testing.T) {
	h := build(t)
	h.must("PUT", "/v1/ruleset", rules, &struct{}{})
	reset := func(peer, body string) (int, string) { return h.do("POST", "/v1/peers/"+peer+"/reset", body) }
	if status, body := reset("a", ""); status != 409 || !strings.Contains(body, "no-session") {
		t.Errorf("without a session: %d %s", status, body)
	}
	a := petest.Dial(t, petest.Options{Local: "127.0.77.11", Remote: h.bgp})
	for body, want := range map[string]string{
		`"text"`:          "JSON object",
		`{"reason": "x"}`: "JSON object",
		`{"text": 7}`:     "JSON object",
		`{"text": "` + strings.Repeat("ö", 128) + `"}`: "256 bytes",
	} {
		if status, got := reset("a", body); status != 400 || !strings.Contains(got, want) || !strings.Contains(got, `"field":"text"`) {
			t.Errorf("%s: %d %s", body, status, got)
		}
	}
	if status, _ := reset("nobody", ""); status != 404 {
		t.Errorf("status %d", status)
	}
	text := strings.Repeat("ö", 127) + "!" // 255 bytes
	body, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		t.Fatal(err)
	}
	if status, got := reset("a", string(body)); status != 200 || !strings.Contains(got, `"was":"established"`) {
		t.Errorf("%d %s", status, got)
	}
	if n := a.Closed(); n == nil || n.ErrorCode != 6 || n.ErrorSubcode != 4 || string(n.Data) != "\xff"+text {
		t.Errorf("ended with %+v", n)
	}
	events, _ := h.engine.Events.After(0)
	found := false
	for _, e := range events {
		found = found || e.Kind == "reset" && e.Peer == "a" && strings.Contains(e.Text, text)
	}
	if !found {
		t.Errorf("no event: %+v", events)
	}
	a = petest.Dial(t, petest.Options{Local: "127.0.77.11", Remote: h.bgp}) // connects again
	if status, got := reset("a", ""); status != 200 {
		t.Errorf("%d %s", status, got)
	}
	if n := a.Closed(); n == nil || n.ErrorSubcode != 4 || string(n.Data) != "\x00" {
		t.Errorf("ended with %+v", n)
	}
}
