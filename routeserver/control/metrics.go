package control

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"weft/routeserver/session"
)

// metrics writes the Prometheus text format.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	var b strings.Builder
	family := func(name, kind, help string) { fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind) }
	gauge := func(name, help string, value any) {
		family(name, "gauge", help)
		fmt.Fprintf(&b, "%s %v\n", name, value)
	}
	generation, _, confirmed := s.Engine.Generation()
	gauge("weft_routeserver_generation", "Generation of the rule set in force.", generation)
	gauge("weft_routeserver_confirmed", "1 if the controller has confirmed the generation since the start.", number(confirmed))
	gauge("weft_routeserver_in_touch", "1 if the controller was heard of in the last five seconds.", number(s.Engine.InTouch()))
	gauge("weft_routeserver_serving", "1 if BGP sessions are accepted.", number(s.Sessions.Serving()))
	process(gauge)
	totals := counters(s.Engine.Counters())
	for _, name := range slices.Sorted(maps.Keys(totals)) {
		metric := "weft_routeserver_" + name + "_total"
		family(metric, "counter", "Total since the start: "+strings.ReplaceAll(name, "_", " ")+".")
		fmt.Fprintf(&b, "%s %d\n", metric, totals[name])
	}
	sessions := s.sessions()
	for _, m := range []struct {
		name, help string
		value      func(sessionStatus) int
	}{
		{"session_up", "1 if the session is established.", func(p sessionStatus) int { return number(p.State == session.Established) }},
		{"routes_in", "Routes that the peer announced.", func(p sessionStatus) int { return p.PrefixesIn }},
		{"routes_out", "Routes that the peer was sent.", func(p sessionStatus) int { return p.PrefixesOut }},
		{"routes_quarantined", "Routes of the peer in quarantine.", func(p sessionStatus) int { return p.Quarantined }},
		{"backlog", "Routes that wait to be written to the peer.", func(p sessionStatus) int { return p.Backlog }},
	} {
		name := "weft_routeserver_peer_" + m.name
		family(name, "gauge", m.help)
		for _, p := range sessions {
			fmt.Fprintf(&b, "%s{peer=%s} %d\n", name, label(p.Peer), m.value(p))
		}
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write([]byte(b.String()))
}

// label quotes a value as the text format asks.
func label(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value) + `"`
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
