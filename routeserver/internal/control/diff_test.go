package control_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/petest"
)

type generationDiff struct {
	Generation uint64
	Peers      []struct{ Kind string }
	Endpoints  []struct {
		Kind     string
		From, To *struct{ Name, RT string }
	}
	Vcps    []struct{ Kind, Name string }
	Members []struct{ Kind, Vcp, Endpoint string }
	Counts  map[string]int
	Routes  []struct {
		Kind, To, Peer, Endpoint, Family, NLRI string
		From                                   []string `json:"from_rts"`
		Targets                                []string `json:"to_rts"`
	}
	Truncated bool
}

// in returns a short form of the difference.
func (d *generationDiff) in() string {
	var lines []string
	for _, p := range d.Peers {
		lines = append(lines, "peer "+p.Kind)
	}
	for _, e := range d.Endpoints {
		lines = append(lines, "endpoint "+e.Kind)
	}
	for _, v := range d.Vcps {
		lines = append(lines, v.Name+" "+v.Kind)
	}
	for _, m := range d.Members {
		lines = append(lines, fmt.Sprintf("%s %s %s", m.Endpoint, m.Kind, m.Vcp))
	}
	for _, r := range d.Routes {
		lines = append(lines, fmt.Sprintf("%s>%s %s %v>%v", r.Peer, r.To, r.Kind, r.From, r.Targets))
	}
	return strings.Join(lines, "; ")
}

func TestWhatIsDifferentBetweenTwoGenerations(t *testing.T) {
	h := build(t)
	if code, body := h.do("GET", "/v1/diff?from=1&to=2", ""); code != 404 || !strings.Contains(body, "no rule set yet") {
		t.Errorf("without a rule set: %d %s", code, body)
	}
	h.must("PUT", "/v1/ruleset", rules, &struct{}{})
	a := petest.Dial(t, petest.Options{Local: "127.0.77.11", Remote: h.bgp})
	b := petest.Dial(t, petest.Options{Local: "127.0.77.12", Remote: h.bgp})
	one, two := petest.VPLS(t, "65000:1", 1, 1, 64, 4097), petest.VPLS(t, "65000:1", 2, 1, 64, 8192)
	a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{one, two}, []string{"65000:1"}))
	b.Has(map[string]string{one.String(): "65000:2", two.String(): "65000:2"})
	for i, op := range []string{
		`{"op": "leave", "vcp": "pool", "endpoint": "eb"}`,
		`{"op": "set-vcp", "vcp": {"name": "new", "members": ["ea", "eb"]}}`,
		`{"op": "set-endpoint", "endpoint": {"name": "eb", "peer": "b", "family": "l2vpn-vpls", "rt": "65000:77", "rd": "65000:77"}}`,
		`{"op": "remove-endpoint", "name": "ea"}`,
	} {
		h.must("POST", "/v1/changes", fmt.Sprintf(`{"base": %d, "generation": %d, "ops": [%s]}`, 5+i, 6+i, op), &struct{}{})
	}
	for query, want := range map[string]string{
		"from=5&to=5": "",
		"from=5&to=6": "eb left pool; a>b disappears [65000:2]>[]; a>b disappears [65000:2]>[]",
		"from=6&to=5": "eb joined pool; a>b appears []>[65000:2]; a>b appears []>[65000:2]",
		"from=6&to=7": "new added; ea joined new; eb joined new; a>b appears []>[65000:2]; a>b appears []>[65000:2]",
		"from=5&to=7": "new added; eb left pool; ea joined new; eb joined new",
		"from=7&to=8": "endpoint changed; a>b route-targets [65000:2]>[65000:77]; a>b route-targets [65000:2]>[65000:77]",
		// The routes of ea are in quarantine now; the rule sets tell their state in between.
		"from=8&to=9":         "endpoint removed; ea left new; ea left pool; a>b disappears [65000:77]>[]; a>b disappears [65000:77]>[]",
		"from=8&to=9&limit=1": "endpoint removed; ea left new; ea left pool; a>b disappears [65000:77]>[]",
		"from=5&to=6&peer=b":  "eb left pool; a>b disappears [65000:2]>[]; a>b disappears [65000:2]>[]",
	} {
		var d generationDiff
		h.must("GET", "/v1/diff?"+query, "", &d)
		have := strings.Split(d.in(), "; ")
		expected := strings.Split(want, "; ")
		slices.Sort(have)
		slices.Sort(expected)
		if !slices.Equal(have, expected) || d.Generation != 9 || d.Truncated != strings.Contains(query, "limit") {
			t.Errorf("%s:\nhave %s\nwant %s", query, d.in(), want)
		}
		if total := d.Counts["appears"] + d.Counts["disappears"] + d.Counts["route-targets"]; want != "" && strings.Contains(want, ">b") && total != 2 {
			t.Errorf("%s: counts %v", query, d.Counts)
		}
	}
	for query, want := range map[string]string{
		"from=4&to=9": "404 known are those from 5 to 9", "from=5&to=10": "404 generation 10 is not known", "from=5": "400 to:", "to=5": "400 from:",
		"from=x&to=5": "400 from:", "from=-1&to=5": "400 from:", "from=5&to=6&peer=zz": `404 there is no peer "zz"`, "from=5&to=6&limit=0": "400 limit:",
		"from=5&to=6&form=7": "400 form: there is no such parameter", "peer=a&pear=b": "400 pear:", "": "400 peer: the name of a PE is missing",
	} {
		code, body := h.do("GET", "/v1/diff?"+query, "")
		if status, text, _ := strings.Cut(want, " "); fmt.Sprint(code) != status || !strings.Contains(strings.ReplaceAll(body, `\"`, `"`), text) {
			t.Errorf("%s: %d %s, want %s", query, code, body, want)
		}
	}
}

func TestEveryFilterInEveryTable(t *testing.T) {
	h := build(t)
	h.must("PUT", "/v1/ruleset", strings.ReplaceAll(rules, "l2vpn-vpls", "l2vpn-evpn"), &struct{}{})
	h.must("POST", "/v1/changes", `{"base": 5, "generation": 6, "ops": [{"op": "set-vcp", "vcp": {"name": "two", "members": ["ea", "eb"]}}]}`, &struct{}{})
	a := petest.Dial(t, petest.Options{Local: "127.0.77.11", Remote: h.bgp})
	b := petest.Dial(t, petest.Options{Local: "127.0.77.12", Remote: h.bgp})
	good, bad := petest.MAC(t, "65000:1", "02:00:00:00:00:0a", "10.1.0.10", 100), petest.MAC(t, "65000:1", "02:00:00:00:00:0b", "10.2.0.11", 100)
	a.Send(petest.Announcement(t, bgp.RF_EVPN, []bgp.NLRI{good}, []string{"65000:1"}))
	a.Send(petest.Announcement(t, bgp.RF_EVPN, []bgp.NLRI{bad}, []string{"65000:2"})) // b's
	b.Has(map[string]string{good.String(): "65000:2"})
	a.Until("both routes", func() bool { return h.engine.PeerViews()[0].In == 2 })
	for _, table := range []string{"adj-in", "quarantine", "pools", "adj-out"} {
		filters := map[string]string{
			"endpoint": "ea", "pool": "pool", "prefix": "10.1.0.0/16", "mac": "02:00:00:00:00:0a", "family": "l2vpn-evpn", "rt": "65000:1", "peer": "a",
		}
		others := map[string]string{
			"endpoint": "none", "pool": "none", "prefix": "10.9.0.0/16", "mac": "02:00:00:00:00:0c", "family": "vpnv4", "rt": "65000:9", "peer": "none",
		}
		want := 1
		switch table {
		case "quarantine":
			filters["rt"], filters["mac"], filters["prefix"], filters["reason"] = "65000:2", "02:00:00:00:00:0b", "10.2.0.0/16", "foreign-rt"
			others["reason"] = "duplicate"
		case "adj-out":
			filters["rt"], filters["peer"] = "65000:2", "b"
		}
		count := func(name, value string) int {
			var list struct {
				Routes []struct{ Pool, Reason string }
			}
			h.must("GET", fmt.Sprintf("/v1/routes?table=%s&%s=%s", table, name, value), "", &list)
			for _, r := range list.Routes {
				if (table == "pools") != (r.Pool != "") || (table == "quarantine") != (r.Reason != "") && table != "adj-in" {
					t.Errorf("%s %s: %+v", table, name, r)
				}
			}
			return len(list.Routes)
		}
		for name, value := range filters {
			expected := want
			switch {
			case table == "pools" && name != "pool":
				expected = 2 // pools
			case table == "adj-in" && (name == "family" || name == "peer"):
				expected = 2 // including the one in quarantine
			}
			if have := count(name, value); have != expected {
				t.Errorf("%s with %s=%s: %d routes, want %d", table, name, value, have, expected)
			}
		}
		for name, value := range others {
			if have := count(name, value); have != 0 {
				t.Errorf("%s with %s=%s: %d routes", table, name, value, have)
			}
		}
		for _, query := range []string{"prefix=10.1.0.1/16", "prefix=x", "mac=x", "family=ipx", "rt=x", "rt=65000", "limit=0", "limit=x", "limit=-1", "limt=5", "reason=bored"} {
			code, body := h.do("GET", "/v1/routes?table="+table+"&"+query, "")
			if name, _, _ := strings.Cut(query, "="); code != 400 || !strings.Contains(body, `"field":"`+name+`"`) {
				t.Errorf("%s %s: %d %s", table, query, code, body)
			}
		}
	}
	for _, query := range []string{"table=nowhere", "table=adj-in&reason=duplicate", "vcp=blue"} {
		if code, _ := h.do("GET", "/v1/routes?"+query, ""); code != 400 {
			t.Errorf("%s: %d", query, code)
		}
	}
}
