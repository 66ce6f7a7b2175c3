package session_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/session"
)

// claim is a PE's last announcement of a route.
type claim struct {
	nlri bgp.NLRI
	rt   string
}

// exchange is a route server and its PEs over TCP, checked by a naive model: a smaller version of the engine's.
type exchange struct {
	*region
	t        *testing.T
	r        *rand.Rand
	document ruleset.Document
	pes      map[string]*petest.PE // those with a session
	said     map[string]map[string]claim
	had      map[string]map[string]string // the expected routes of each PE before the step
	read     map[string]int               // number of checked UPDATEs
	sent     uint64                       // number of UPDATEs from all PEs
}

var exchangePEs = []string{"a", "b", "c"}

const exchangeSites = 6

// wanted returns the routes that a PE should have: NLRI text to route targets.
func (x *exchange) wanted(pe string) map[string]string {
	rib := map[string]string{}
	for announcer, claims := range x.said {
		for _, c := range claims {
			for _, e := range x.document.Endpoints {
				if e.Peer != announcer || e.RT != c.rt {
					continue
				}
				var rts []string
				for _, f := range x.document.Endpoints {
					if f.Peer == pe && f.Name != e.Name && slices.ContainsFunc(x.document.Vcps, func(v ruleset.Vcp) bool {
						return slices.Contains(v.Members, e.Name) && slices.Contains(v.Members, f.Name)
					}) {
						rts = append(rts, f.RT)
					}
				}
				if sort.Strings(rts); len(rts) > 0 {
					rib[c.nlri.String()] = strings.Join(rts, " ")
				}
			}
		}
	}
	return rib
}

// check checks that every PE gets the routes that it should have, and was never sent one that it should not have before
// or after the step.
func (x *exchange) check(after string) {
	x.t.Helper()
	for name, pe := range x.pes {
		pe.Until("the route server to read", func() bool { return x.Counters().Updates == x.sent })
		want := x.wanted(name)
		pe.Has(want)
		updates := pe.Updates()
		for _, u := range updates[x.read[name]:] {
			rts := strings.Join(petest.RouteTargets(u), " ")
			for _, attribute := range u.PathAttributes {
				reach, _ := attribute.(*bgp.PathAttributeMpReachNLRI)
				if reach == nil {
					continue
				}
				for _, n := range reach.Value {
					if text := n.NLRI.String(); want[text] != rts && x.had[name][text] != rts {
						x.t.Fatalf("after %s: %s was sent %s with %s", after, name, text, rts)
					}
				}
			}
		}
		x.read[name], x.had[name] = len(updates), want
	}
}

func TestSessionsAgainstNaiveModel(t *testing.T) {
	const steps = 400
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			x := newExchange(t, seed)
			for range steps {
				x.check(x.step())
			}
		})
	}
}

func newExchange(t *testing.T, seed uint64) *exchange {
	x := &exchange{
		region: start(t, session.Config{}), t: t, r: rand.New(rand.NewPCG(seed, 2)),
		pes: map[string]*petest.PE{}, said: map[string]map[string]claim{}, had: map[string]map[string]string{}, read: map[string]int{},
	}
	x.document = *x.Set().Document()
	x.document.Generation++
	x.document.Endpoints, x.document.Vcps = nil, nil
	for i := range exchangeSites {
		rt := fmt.Sprintf("65000:%d", i+1)
		x.document.Endpoints = append(x.document.Endpoints, ruleset.Endpoint{Name: fmt.Sprintf("site%d", i), Peer: exchangePEs[i%3], Family: "l2vpn-vpls", RT: rt, RD: rt})
	}
	for i := range 3 {
		x.document.Vcps = append(x.document.Vcps, ruleset.Vcp{Name: fmt.Sprintf("pool%d", i)})
	}
	if _, err := x.Replace(&x.document, false); err != nil {
		t.Fatal(err)
	}
	return x
}
