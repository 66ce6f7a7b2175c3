package control_test

import (
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/petest"
)

// TestAChangeOnTrialIsTakenBackFromThePEs checks that a join on trial reaches the PE, and is taken back if it is not confirmed.
func TestAChangeOnTrialIsTakenBackFromThePEs(t *testing.T) {
	h := build(t)
	h.must("PUT", "/v1/ruleset", rules, &struct{}{})
	h.must("POST", "/v1/changes", `{"base": 5, "generation": 6, "ops": [{"op": "leave", "vcp": "pool", "endpoint": "eb"}]}`, &struct{}{})
	a := petest.Dial(t, petest.Options{Local: "127.0.77.11", Remote: h.bgp})
	b := petest.Dial(t, petest.Options{Local: "127.0.77.12", Remote: h.bgp})
	n := petest.VPLS(t, "65000:1", 1, 1, 64, 4097)
	a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{n}, []string{"65000:1"}))
	b.Has(map[string]string{})

	const join = `{"base": 6, "generation": 7, "ops": [{"op": "join", "vcp": "pool", "endpoint": "eb"}]}`
	type status struct {
		Generation, Fallback uint64
		ConfirmBy            string `json:"confirm_by"`
	}
	var s status
	h.must("POST", "/v1/changes?confirm_within=1", join, &struct{}{})
	h.must("GET", "/v1/status", "", &s)
	if s.Generation != 7 || s.Fallback != 6 || s.ConfirmBy == "" {
		t.Errorf("on trial: %+v", s)
	}
	b.Has(map[string]string{n.String(): "65000:2"})
	if code, _ := h.do("POST", "/v1/changes", `{"base": 7, "generation": 8, "ops": []}`); code != 409 {
		t.Errorf("a change on top of it: %d", code)
	}
	b.Has(map[string]string{})
	s = status{}
	h.must("GET", "/v1/status", "", &s)
	if s.Generation != 6 || s.ConfirmBy != "" {
		t.Errorf("rolled back: %+v", s)
	}

	h.must("POST", "/v1/changes?confirm_within=60", join, &struct{}{})
	h.must("POST", "/v1/confirm", `{"generation": 7}`, &struct{}{})
	s = status{}
	h.must("GET", "/v1/status", "", &s)
	if s.Generation != 7 || s.ConfirmBy != "" {
		t.Errorf("confirmed: %+v", s)
	}
	b.Has(map[string]string{n.String(): "65000:2"})
}
