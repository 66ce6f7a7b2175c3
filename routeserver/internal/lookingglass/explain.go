package lookingglass

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/wire"
)

// Step is one link of the chain from announcement to delivery.
type Step struct {
	Step string     `json:"step"`
	OK   bool       `json:"ok"`
	Text string     `json:"text"`
	At   *time.Time `json:"at,omitempty"`
}

// RouteExplanation is the verdict on one route, with its reasons.
type RouteExplanation struct {
	NLRI    string `json:"nlri"`
	Family  string `json:"family"`
	Verdict string `json:"verdict"` // sent, not-sent, held-back, quarantined
	Text    string `json:"text"`
	Steps   []Step `json:"steps"`
}

// Explanation answers why the routes of one endpoint did or did not reach another one.
type Explanation struct {
	From    string             `json:"from"`
	To      string             `json:"to"`
	Verdict string             `json:"verdict"`
	Text    string             `json:"text"`
	Routes  []RouteExplanation `json:"routes"`
}

// The verdicts.
const (
	sent        = "sent"
	notSent     = "not-sent"
	heldBack    = "held-back"
	partly      = "partly" // some routes are sent, others are not
	quarantined = "quarantined"
)

// Explain follows the routes of endpoint from on their way to endpoint to. If nlri is not empty, it is the name of the
// wanted route, or, if no route has that name, a part of the names of the wanted ones.
func Explain(e *engine.Engine, from, to, nlri string) (*Explanation, error) {
	p := e.Path(from, to)
	if p.FromUnknown {
		return nil, fmt.Errorf("there is no endpoint %q", from)
	}
	if p.ToUnknown {
		return nil, fmt.Errorf("there is no endpoint %q", to)
	}
	x := &Explanation{From: from, To: to, Verdict: notSent, Routes: []RouteExplanation{}}
	wanted := wire.Family.Mentions
	if named(&p, nlri) {
		wanted = wire.Family.Calls
	}
	for _, v := range p.Routes {
		if wanted(v.Family, nlri, v.NLRI) {
			x.Routes = append(x.Routes, accepted(&p, v, from, to))
		}
	}
	for _, v := range p.Suspects {
		if (nlri != "" || concerns(&p, v)) && wanted(v.Family, nlri, v.NLRI) {
			x.Routes = append(x.Routes, suspect(&p, v))
		}
	}
	for _, g := range p.Gone {
		if wanted(g.Family, nlri, g.NLRI) {
			x.Routes = append(x.Routes, gone(&p, g))
		}
	}
	x.conclude(&p, nlri)
	return x, nil
}

// named reports whether nlri is the whole name of a route on that path.
func named(p *engine.Path, nlri string) bool {
	view := func(v engine.View) bool { return v.Family.Calls(nlri, v.NLRI) }
	return slices.ContainsFunc(p.Routes, view) || slices.ContainsFunc(p.Suspects, view) ||
		slices.ContainsFunc(p.Gone, func(g engine.Gone) bool { return g.Family.Calls(nlri, g.NLRI) })
}

// concerns reports whether a route in quarantine probably belongs to the endpoint: it has its route distinguisher or
// its route target, or one with the same numbers.
func concerns(p *engine.Path, v engine.View) bool {
	return v.Family.Distinguisher(v.NLRI) == p.FromRD || slices.Contains(targets(v.Targets), p.FromRT) || nearMiss(p, v) != ""
}

// nearMiss describes the value in a route that is its endpoint's in another encoding; empty: there is none.
func nearMiss(p *engine.Path, v engine.View) string {
	if own, err := wire.ParseRT(p.FromRT); err == nil {
		for _, rt := range wire.RTs(v.Targets) {
			if rt.Resembles(own) {
				return fmt.Sprintf("%s is the endpoint's route target %s in another encoding", rt, p.FromRT)
			}
		}
	}
	own, err := wire.ParseRD(p.FromRD)
	if rd := v.Family.RD(v.NLRI); err == nil && rd != "" && wire.RD([]byte(rd)).Resembles(own) {
		return fmt.Sprintf("%s is the endpoint's route distinguisher %s in another encoding", v.Family.Distinguisher(v.NLRI), p.FromRD)
	}
	return ""
}

// conclude sums up the present routes: with one verdict if all have the same. A sent route does not hide others that
// are not sent.
func (x *Explanation) conclude(p *engine.Path, nlri string) {
	there, counts := 0, map[string]int{}
	first := map[string]string{} // text by verdict
	for _, r := range x.Routes {
		if x.Text == "" || r.Verdict == sent && x.Verdict != sent {
			x.Verdict, x.Text = r.Verdict, r.Text
		}
		if r.Steps[0].Step == "withdrawn" {
			continue
		}
		there++
		if counts[r.Verdict]++; counts[r.Verdict] == 1 {
			first[r.Verdict] = r.Text
		}
	}
	if x.Verdict == sent && counts[sent] < there {
		x.Verdict = partly
	}
	if counts[quarantined] < there || there > 1 {
		for _, kept := range []struct{ verdict, text string }{{quarantined, "in quarantine"}, {heldBack, "held back"}, {notSent, "not sent"}} {
			if n := counts[kept.verdict]; n > 0 && (x.Verdict == partly || kept.verdict == quarantined) {
				x.Text += fmt.Sprintf("; %d of %d routes %s: %s", n, there, kept.text, first[kept.verdict])
			}
		}
	}
	switch {
	case x.Text != "":
	case p.FromSession.IsZero():
		x.Text = fmt.Sprintf("%s has no session, so %s has announced nothing", p.FromPeer, x.From)
	case nlri != "":
		x.Text = fmt.Sprintf("%s has announced no route of %s that matches %q", p.FromPeer, x.From, nlri)
	default:
		x.Text = fmt.Sprintf("%s has announced no route of %s", p.FromPeer, x.From)
	}
}

func announced(peer string, v engine.View) Step {
	text := "announced by " + peer
	if hop := v.Attributes.Hop(); hop != "" {
		text += " with next hop " + hop
	}
	text += staleness(peer, v)
	return Step{"announced", true, text, moment(v.Received)}
}

func staleness(peer string, v engine.View) string {
	switch until := v.StaleUntil.UTC().Format(time.RFC3339); {
	case v.StaleUntil.IsZero() && v.LongLived:
		return "; long-lived stale when it came"
	case v.StaleUntil.IsZero():
		return ""
	case v.LongLived:
		return fmt.Sprintf("; long-lived stale, kept until %s at most, since %s is not back in time", until, peer)
	default:
		return fmt.Sprintf("; stale, kept until %s at most, while %s restarts", until, peer)
	}
}

func accepted(p *engine.Path, v engine.View, from, to string) RouteExplanation {
	x := RouteExplanation{NLRI: v.Family.Text(v.NLRI), Family: v.Family.String(), Verdict: notSent}
	add := func(step string, ok bool, at time.Time, format string, args ...any) bool {
		x.Steps = append(x.Steps, Step{step, ok, fmt.Sprintf(format, args...), moment(at)})
		x.Text = x.Steps[len(x.Steps)-1].Text
		return ok
	}
	x.Steps = append(x.Steps, announced(p.FromPeer, v))
	add("accepted", true, time.Time{}, "its route target %s is that of endpoint %s of %s", p.FromRT, from, p.FromPeer)
	if from == to {
		add("pools", false, time.Time{}, "an endpoint does not get its own routes")
		return x
	}
	if len(p.Shared) == 0 {
		text := fmt.Sprintf("%s and %s share no VCP", from, to)
		if !p.Parted.IsZero() && p.Targets == "" {
			text += "; the route was withdrawn when they last did not any more"
		}
		add("pools", false, p.Parted, "%s", text)
		return x
	}
	add("pools", true, time.Time{}, "%s and %s share %s", from, to, strings.Join(p.Shared, ", "))
	if p.ToSession.IsZero() {
		add("session", false, time.Time{}, "%s of endpoint %s has no session", p.ToPeer, to)
		return x
	}
	if !add("session", p.ToFamilies[v.Family], p.ToSession, "%s has a session%s", p.ToPeer, carrying(p.ToFamilies[v.Family], v.Family)) {
		return x
	}
	if scope := v.Attributes.Scope(); !scope.Reaches(p.ToExternal) {
		add("scope", false, time.Time{}, "its community %s keeps it from %s", scope, p.ToPeer)
		return x
	}
	if v.LongLived && !p.ToLongLived {
		add("long-lived", false, time.Time{}, "it is long-lived stale, and %s does not speak long-lived graceful restart", p.ToPeer)
		return x
	}
	if p.Constrains && !add("asked", p.Wanted != "", time.Time{}, "%s", asking(p)) {
		return x
	}
	if !p.Barred.IsZero() {
		add("held", false, time.Time{}, "all routes of %s are held back from %s until %s: too many of them have ended its sessions", p.FromPeer, p.ToPeer, p.Barred.UTC().Format(time.RFC3339))
		x.Verdict = heldBack
		return x
	}
	copied, ok := p.Out[v.NLRI]
	add("rewritten", ok, time.Time{}, "route target %s becomes %s", p.FromRT, strings.Join(targets(p.Wanted), " "))
	if !ok {
		return x
	}
	if copied.Held != nil {
		add("held", false, copied.Held.Since, "%s", holding(p, copied.Held))
		x.Verdict = heldBack
		return x
	}
	if copied.Withheld != "" {
		add("fits", false, time.Time{}, "it does not fit into a message that %s takes (%d bytes, RFC 8654); an older version was withdrawn", p.ToPeer, p.ToLongest)
		return x
	}
	if !add("sent", !copied.Sent.IsZero(), copied.Sent, "%s", deliver(p, copied)) {
		return x
	}
	x.Verdict = sent
	return x
}

// asking describes the result of RT-Constrain.
func asking(p *engine.Path) string {
	if p.Wanted == "" {
		return fmt.Sprintf("%s has not asked for route target %s (RT-Constrain)", p.ToPeer, strings.Join(targets(p.Targets), " "))
	}
	return fmt.Sprintf("%s has asked for route target %s", p.ToPeer, strings.Join(targets(p.Wanted), " "))
}

func carrying(ok bool, f wire.Family) string {
	if ok {
		return " that carries " + f.String()
	}
	return ", which does not carry " + f.String()
}

func deliver(p *engine.Path, v engine.View) string {
	if v.Sent.IsZero() {
		return "waits to be written to " + p.ToPeer
	}
	text := fmt.Sprintf("sent to %s with route target %s", p.ToPeer, strings.Join(targets(v.Targets), " "))
	if p.ToExternal && v.Attributes.Passed(p.ToASN) {
		text += fmt.Sprintf("; its own AS number %d is in AS_PATH, and it ignores the route unless told otherwise", p.ToASN)
	}
	return text
}

var reasons = map[rib.Reason]string{
	rib.UnknownRT: "no endpoint has its route target",
	rib.ForeignRT: "its route target belongs to an endpoint of another peer",
	rib.NoRT:      "it has no route target",
	rib.Ambiguous: "it has more than one route target",
	rib.Duplicate: "another peer announces the same NLRI",
	rib.Family:    "its endpoint's routes are of another family",
	rib.Redirect:  "it would redirect traffic into the VRF of a route target",
	rib.Loop:      "it was here before, by its AS_PATH, ORIGINATOR_ID or CLUSTER_LIST",
	rib.Limit:     "its endpoint has more routes than its limit, or more MACs",

	rib.ForeignRD:      "its route distinguisher is not its endpoint's",
	rib.ForeignVE:      "its VE ID is not its endpoint's",
	rib.Labels:         "its label block is not one of its endpoint's",
	rib.NextHop:        "it sends traffic to an address that is not its PE's",
	rib.Originator:     "its originator is not its PE",
	rib.ForeignMAC:     "its MAC is another endpoint's own, or no machine's",
	rib.ForeignAddress: "its address is not of its endpoint's LAN, and nobody there has kept it",
	rib.ForeignPrefix:  "its prefix is not of its endpoint's LAN",
	rib.Segment:        "it names an Ethernet segment, and its endpoint has none",
	rib.RouteType:      "its endpoint has no EVPN routes of this type",
	rib.Flowspec:       "it is a traffic filter, and its endpoint's PE may not announce any",
}

func suspect(p *engine.Path, v engine.View) RouteExplanation {
	text := fmt.Sprintf("in quarantine (%s): %s", v.Reason, reasons[v.Reason])
	if rts := targets(v.Targets); len(rts) > 0 {
		text += " (" + strings.Join(rts, " ") + ")"
	}
	if miss := nearMiss(p, v); miss != "" {
		text += "; " + miss
	}
	if v.Reason == rib.Ambiguous && slices.Contains(targets(v.Targets), p.FromRT) {
		text += "; a PE with symmetric IRB adds the route target of the VRF: keep it off MAC/IP routes (FRR: `vni N prefix-routes-only`)"
	}
	return RouteExplanation{
		NLRI: v.Family.Text(v.NLRI), Family: v.Family.String(), Verdict: quarantined, Text: text,
		Steps: []Step{announced(p.FromPeer, v), {"accepted", false, text, nil}},
	}
}

func gone(p *engine.Path, g engine.Gone) RouteExplanation {
	text := fmt.Sprintf("%s has withdrawn it", p.FromPeer)
	if p.FromSession.IsZero() {
		text = fmt.Sprintf("%s had announced it, but has no session any more", p.FromPeer)
	}
	return RouteExplanation{
		NLRI: g.Family.Text(g.NLRI), Family: g.Family.String(), Verdict: notSent, Text: text,
		Steps: []Step{{"withdrawn", false, text, moment(g.At)}},
	}
}
