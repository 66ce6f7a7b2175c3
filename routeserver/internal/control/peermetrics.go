package control

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/session"
	"weft/routeserver/internal/wire"
)

// stateNumbers are the state numbers of BGP4-MIB (RFC 4273, bgpPeerState).
var stateNumbers = map[string]float64{
	session.Idle: 1, session.Connect: 2, session.Active: 3, session.OpenSent: 4, session.OpenConfirm: 5, session.Established: 6,
}

// peerMetrics writes samples for every peer of the rule set, then for its families, then for quarantine reasons.
func peerMetrics(x *exposition, peers []sessionStatus) {
	for _, m := range []struct {
		name  string
		kind  prometheus.ValueType
		help  string
		value func(sessionStatus) float64
	}{
		{"endpoints", prometheus.GaugeValue, "Endpoints of the peer in the rule set. A PE without any may have no session.", func(p sessionStatus) float64 { return float64(p.Endpoints) }},
		{"session_up", prometheus.GaugeValue, "1 if the session is established.", func(p sessionStatus) float64 { return number(p.State == session.Established) }},
		{"session_state", prometheus.GaugeValue, "State of the session as in BGP4-MIB: 1 idle, 2 connect, 3 active, 4 opensent, 5 openconfirm, 6 established.",
			func(p sessionStatus) float64 { return stateNumbers[p.State] }},
		{"sessions_established_total", prometheus.CounterValue, "Sessions that were established.", func(p sessionStatus) float64 { return float64(p.account.Sessions) }},
		{"sessions_lost_total", prometheus.CounterValue, "Established sessions that ended.", func(p sessionStatus) float64 { return float64(p.account.Ended) }},
		{"updates_received_total", prometheus.CounterValue, "UPDATE messages of the peer.", func(p sessionStatus) float64 { return float64(p.account.Updates) }},
		{"treat_as_withdraw_total", prometheus.CounterValue, "UPDATE messages of the peer that were treated as withdrawals (RFC 7606).",
			func(p sessionStatus) float64 { return float64(p.account.Malformed) }},
		{"loops_total", prometheus.CounterValue, "UPDATE messages of the peer with our AS number, identifier or cluster in the path.",
			func(p sessionStatus) float64 {
				return float64(p.account.ASLoops + p.account.OriginLoops + p.account.Clusters)
			}},
		{"backlog", prometheus.GaugeValue, "Routes that wait to be written to the peer.", func(p sessionStatus) float64 { return float64(p.Backlog) }},
		{"routes_bytes", prometheus.GaugeValue, "Memory that the routes of the peer take, as --max-bytes counts it.", func(p sessionStatus) float64 { return float64(p.Bytes) }},
		{"routes_stale", prometheus.GaugeValue, "Routes of the peer kept from before its session was lost.", func(p sessionStatus) float64 { return float64(p.Stale) }},
		{"routes_long_lived_stale", prometheus.GaugeValue, "Of the stale ones, those kept for longer than the restart time.", func(p sessionStatus) float64 { return float64(p.LongLived) }},
		{"poisoned_sessions_total", prometheus.CounterValue, "Sessions that the peer ended for routes that it was sent.", func(p sessionStatus) float64 { return float64(p.account.Poisoned) }},
		{"poison_routes_total", prometheus.CounterValue, "Routes that were found to be why.", func(p sessionStatus) float64 { return float64(p.account.Poisons) }},
	} {
		x.begin("peer_"+m.name, m.kind, m.help)
		for _, p := range peers {
			x.sample(m.value(p), "peer", p.Peer)
		}
	}
	x.begin("peer_session_changed_timestamp_seconds", prometheus.GaugeValue, "When the session was established or lost, in seconds since 1970.")
	for _, p := range peers {
		if p.Since != nil {
			x.sample(seconds(*p.Since), "peer", p.Peer)
		}
	}
	x.begin("peer_last_error", prometheus.GaugeValue, "1, with the class of what ended the last connection with the peer.")
	for _, p := range peers {
		if p.errorClass != "" {
			x.sample(1, "peer", p.Peer, "class", p.errorClass)
		}
	}
	x.begin("peer_routes_held", prometheus.GaugeValue, "Routes that are held back from the peer: poison, or suspected and to be tried.")
	for _, p := range peers {
		for _, verdict := range []string{engine.Poison, engine.Suspected} {
			x.sample(float64(p.account.Held[verdict]), "peer", p.Peer, "verdict", verdict)
		}
	}
	familyMetrics(x, peers)
	reasonMetrics(x, peers)
}

// familyMetrics omits the families that a peer has neither endpoints of, nor negotiated, nor ever used. Those of its
// endpoints begin with 0, because Prometheus sees no increase in a counter that begins with its first event.
func familyMetrics(x *exposition, peers []sessionStatus) {
	for _, m := range []struct {
		name  string
		kind  prometheus.ValueType
		help  string
		value func(*engine.Account, wire.Family) float64
	}{
		{"routes_in", prometheus.GaugeValue, "Routes that the peer announced: its Adj-RIB-In.", func(a *engine.Account, f wire.Family) float64 { return float64(a.In[f]) }},
		{"routes_accepted", prometheus.GaugeValue, "Of these, those that are not in quarantine.", func(a *engine.Account, f wire.Family) float64 { return float64(a.Accepted[f]) }},
		{"routes_out", prometheus.GaugeValue, "Routes that the peer was sent: its Adj-RIB-Out.", func(a *engine.Account, f wire.Family) float64 { return float64(a.Out[f]) }},
		{"routes_withheld", prometheus.GaugeValue, "Routes that the peer is to have and is not sent, since they do not fit into a message that it takes.",
			func(a *engine.Account, f wire.Family) float64 { return float64(a.Withheld[f]) }},
		{"routes_announced_total", prometheus.CounterValue, "Announcements of routes by the peer.", func(a *engine.Account, f wire.Family) float64 { return float64(a.Families[f].Announced) }},
		{"routes_withdrawn_total", prometheus.CounterValue, "Withdrawals of routes by the peer.", func(a *engine.Account, f wire.Family) float64 { return float64(a.Families[f].Withdrawn) }},
		{"routes_sent_total", prometheus.CounterValue, "Announcements of routes to the peer.", func(a *engine.Account, f wire.Family) float64 { return float64(a.Families[f].SentAnnounced) }},
		{"withdrawals_sent_total", prometheus.CounterValue, "Withdrawals of routes to the peer.", func(a *engine.Account, f wire.Family) float64 { return float64(a.Families[f].SentWithdrawn) }},
	} {
		x.begin("peer_"+m.name, m.kind, m.help)
		for _, p := range peers {
			a := p.account
			for f := range wire.Families {
				negotiated := a.Session != nil && a.Session.Families[f] && f != wire.RTC
				if p.mains[f] || negotiated || a.In[f] > 0 || a.Families[f] != (engine.Traffic{}) {
					x.sample(m.value(a, f), "peer", p.Peer, "family", f.String())
				}
			}
		}
	}
}

// reasonMetrics writes samples about quarantine. The gauge has the reasons that have occurred, the counter all: it begins
// with 0.
func reasonMetrics(x *exposition, peers []sessionStatus) {
	x.begin("peer_routes_quarantined", prometheus.GaugeValue, "Routes of the peer in quarantine.")
	for _, p := range peers {
		occurred := maps.Clone(p.account.Quarantined)
		for r := range p.account.Refused {
			occurred[r] += 0
		}
		for _, r := range slices.Sorted(maps.Keys(occurred)) {
			x.sample(float64(occurred[r]), "peer", p.Peer, "reason", string(r))
		}
	}
	x.begin("peer_quarantined_total", prometheus.CounterValue, "Routes of the peer that went into quarantine on arrival.")
	for _, p := range peers {
		for _, r := range rib.Reasons {
			x.sample(float64(p.account.Refused[r]), "peer", p.Peer, "reason", string(r))
		}
	}
}
