package control

import (
	"fmt"
	"net/http"
	"slices"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/wire"
)

// byFamily has a number for each family that a peer has negotiated or used.
type byFamily map[string]uint64

// peerCounts are the numbers of a peer's routes: those present, and those since the start.
type peerCounts struct {
	Peer   string        `json:"peer"`
	State  string        `json:"state"`
	Routes presentCounts `json:"routes"`
	Totals totalCounts   `json:"totals"`
}

type presentCounts struct {
	In          byFamily           `json:"in"`
	Accepted    byFamily           `json:"accepted"`
	Quarantined map[rib.Reason]int `json:"quarantined"`
	Out         byFamily           `json:"out"`
	Withheld    byFamily           `json:"withheld"`
	Held        map[string]int     `json:"held"`
	Stale       int                `json:"stale"`
	LongLived   int                `json:"long_lived"`
	Bytes       int                `json:"bytes"`
}

type totalCounts struct {
	Sessions        uint64                `json:"sessions"`
	SessionsLost    uint64                `json:"sessions_lost"`
	Updates         uint64                `json:"updates_received"`
	Announced       byFamily              `json:"routes_announced"`
	Withdrawn       byFamily              `json:"routes_withdrawn"`
	Sent            byFamily              `json:"routes_sent"`
	Unsent          byFamily              `json:"withdrawals_sent"`
	Repeated        uint64                `json:"repeated"`
	Vain            uint64                `json:"withdrawals_ignored"`
	TreatAsWithdraw uint64                `json:"treat_as_withdraw"`
	Untrusted       uint64                `json:"treat_as_withdraw_routes"`
	ASLoops         uint64                `json:"as_loops"`
	OriginatorLoop  uint64                `json:"originator_loops"`
	ClusterLoops    uint64                `json:"cluster_loops"`
	Quarantined     map[rib.Reason]uint64 `json:"quarantined"`
	Poisoned        uint64                `json:"poisoned_sessions"`
	Poisons         uint64                `json:"poison_routes"`
}

// counts returns a page of the numbers of routes, one item per peer.
func (s *Server) counts(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if err := unknown(q, "peer", "limit", "cursor"); err != nil {
		s.failWith(w, err)
		return
	}
	names := s.Engine.Set().Peers()
	if peer := q.Get("peer"); peer != "" {
		if !slices.Contains(names, peer) {
			fail(w, http.StatusNotFound, "not-found", "peer", fmt.Sprintf("there is no peer %q", peer))
			return
		}
		names = []string{peer}
	}
	limit, after, err := pageOf(q)
	if err != nil {
		s.failWith(w, err)
		return
	}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name <= after.Peer })
	page := map[string]any{"next": nil}
	if len(names) > limit {
		names = names[:limit]
		page["next"] = cursor(engine.Place{Peer: names[limit-1]})
	}
	states, idle := s.Sessions.States(), s.withoutSession()
	list := make([]peerCounts, 0, len(names))
	for _, name := range names {
		c := countsOf(s.Engine.Account(name))
		c.State = idle
		if state, there := states[name]; there {
			c.State = state.State
		}
		list = append(list, c)
	}
	page["peers"] = list
	reply(w, http.StatusOK, page)
}

// countsOf converts an account for a reply.
func countsOf(a *engine.Account) peerCounts {
	families := func(value func(f wire.Family) uint64) byFamily {
		n := byFamily{}
		for f := range wire.Families {
			negotiated := a.Session != nil && a.Session.Families[f] && f != wire.RTC
			if negotiated || a.In[f] > 0 || a.Families[f] != (engine.Traffic{}) {
				n[f.String()] = value(f)
			}
		}
		return n
	}
	present := func(numbers *[wire.Families]int) byFamily {
		return families(func(f wire.Family) uint64 { return uint64(max(0, numbers[f])) })
	}
	total := func(value func(t engine.Traffic) uint64) byFamily {
		return families(func(f wire.Family) uint64 { return value(a.Families[f]) })
	}
	c := peerCounts{
		Peer: a.Peer,
		Routes: presentCounts{
			In: present(&a.In), Accepted: present(&a.Accepted), Quarantined: a.Quarantined, Out: present(&a.Out), Withheld: present(&a.Withheld),
			Held: a.Held, Stale: a.Stale.Routes, LongLived: a.Stale.LongLived, Bytes: a.Bytes,
		},
		Totals: totalCounts{
			Sessions: a.Sessions, SessionsLost: a.Ended, Updates: a.Updates,
			Announced: total(func(t engine.Traffic) uint64 { return t.Announced }),
			Withdrawn: total(func(t engine.Traffic) uint64 { return t.Withdrawn }),
			Sent:      total(func(t engine.Traffic) uint64 { return t.SentAnnounced }),
			Unsent:    total(func(t engine.Traffic) uint64 { return t.SentWithdrawn }),
			Repeated:  a.Repeated, Vain: a.Vain, TreatAsWithdraw: a.Malformed, Untrusted: a.Untrusted,
			ASLoops: a.ASLoops, OriginatorLoop: a.OriginLoops, ClusterLoops: a.Clusters,
			Quarantined: a.Refused, Poisoned: a.Poisoned, Poisons: a.Poisons,
		},
	}
	if c.Routes.Quarantined == nil {
		c.Routes.Quarantined = map[rib.Reason]int{}
	}
	if c.Routes.Held == nil {
		c.Routes.Held = map[string]int{}
	}
	if c.Totals.Quarantined == nil {
		c.Totals.Quarantined = map[rib.Reason]uint64{}
	}
	return c
}
