package control

import (
	"net/http"
	"net/netip"
	"time"

	"weft/routeserver/internal/bmp"
	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/session"
	"weft/routeserver/internal/wire"
)

// sessionStatus is the state of a peer, as users see it.
type sessionStatus struct {
	Peer        string     `json:"peer"`
	Address     string     `json:"address"`
	Endpoints   int        `json:"endpoints"` // in the rule set; a PE without any may have no session
	State       string     `json:"state"`
	Since       *time.Time `json:"since"`
	Families    []string   `json:"families"`
	PrefixesIn  int        `json:"prefixes_in"`
	PrefixesOut int        `json:"prefixes_out"`
	Quarantined int        `json:"quarantined"`
	Bytes       int        `json:"bytes"` // of memory for its routes
	Stale       int        `json:"stale"`
	StaleUntil  *time.Time `json:"stale_until,omitempty"`
	LongLived   int        `json:"long_lived"` // of the stale ones
	LongFrom    *time.Time `json:"long_lived_from,omitempty"`
	Held        int        `json:"held"` // routes that the poison-route guard holds back
	Backlog     int        `json:"backlog"`
	LastError   string     `json:"last_error"`

	errorClass string
	account    *engine.Account
	mains      [wire.Families]bool // of its endpoints
}

func (s *Server) sessions() []sessionStatus {
	states, idle := s.Sessions.States(), s.withoutSession()
	list := []sessionStatus{}
	for _, p := range s.Engine.PeerViews() {
		st := sessionStatus{
			Peer: p.Name, Address: p.Address, Endpoints: p.Endpoints, State: idle, Families: p.Families, mains: p.Mains,
			PrefixesIn: p.In, PrefixesOut: p.Out, Quarantined: p.Quarantined, Bytes: p.Account.Bytes, Stale: p.Stale.Routes, LongLived: p.Stale.LongLived,
			account: p.Account, Held: p.Account.Held[engine.Poison] + p.Account.Held[engine.Suspected],
		}
		if until := p.Stale.Until.UTC(); !until.IsZero() {
			st.StaleUntil = &until
		}
		if from := p.Stale.From.UTC(); !from.IsZero() {
			st.LongFrom = &from
		}
		if state, there := states[p.Name]; there {
			since := state.Since.UTC()
			st.State, st.Since, st.LastError, st.Backlog = state.State, &since, state.LastError, state.Backlog
			st.errorClass = state.ErrorClass
		}
		list = append(list, st)
	}
	return list
}

// withoutSession returns the state of a peer that has never connected.
func (s *Server) withoutSession() string {
	if s.Sessions.Serving() {
		return session.Active
	}
	return session.Idle
}

// stations returns the states of the BMP stations.
func (s *Server) stations() []bmp.Status {
	list := []bmp.Status{}
	for _, station := range s.Stations {
		list = append(list, station.Status())
	}
	return list
}

func (s *Server) status(w http.ResponseWriter, _ *http.Request) {
	generation, loaded, confirmed := s.Engine.Generation()
	body := map[string]any{
		"name":       s.Engine.Name,
		"version":    s.Version,
		"router_id":  netip.AddrFrom4(s.Engine.RouterID).String(),
		"generation": generation,
		"loaded":     loaded,
		"confirmed":  confirmed,
		"in_touch":   s.Engine.InTouch(),
		"serving":    s.Sessions.Serving(),
		"restarting": s.Engine.Restarting(),
		"permits":    true, // tells that this route server supports announce permits
		"tcp_md5":    dropped("/proc/net/netstat"),
		"started_at": s.Started.UTC(),
		"sessions":   s.sessions(),
		"bmp":        s.stations(),
		"counters":   counters(s.Engine.Counters()),
	}
	if s.Twin != nil {
		body["twin"] = twinSeen(s.Twin)
	}
	if until, fallback, on := s.Engine.Trial(); on {
		body["confirm_by"], body["fallback"] = until.UTC(), fallback
	}
	reply(w, http.StatusOK, body)
}

// counters returns the totals since the start, by name.
func counters(c engine.Counters) map[string]uint64 {
	return map[string]uint64{
		"updates_received": c.Updates, "routes_announced": c.Announced, "routes_withdrawn": c.Withdrawn,
		"treat_as_withdraw": c.Malformed, "loops": c.Loops, "ignored": c.Ignored,
		"changes": c.Changes, "replacements": c.Replacements,
		"routes_sent": c.SentAnnounced, "withdrawals_sent": c.SentWithdrawn,
	}
}
