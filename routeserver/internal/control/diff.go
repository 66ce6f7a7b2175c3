package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"weft/routeserver/internal/lookingglass"
	"weft/routeserver/internal/ruleset"
)

// diff compares a peer's Adj-RIB-Out with the model, or two generations with each other.
func (s *Server) diff(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Has("from") || q.Has("to") {
		s.generations(w, q)
		return
	}
	if err := unknown(q, "peer", "from", "to", "limit"); err != nil {
		s.failWith(w, err)
		return
	}
	peer := q.Get("peer")
	if peer == "" {
		fail(w, http.StatusBadRequest, "invalid", "peer", "peer: the name of a PE is missing, or from and to, two generations")
		return
	}
	snapshot := s.Engine.Snapshot(peer)
	if _, known := snapshot.Set.Peer(peer); !known {
		fail(w, http.StatusNotFound, "not-found", "", fmt.Sprintf("there is no peer %q", peer))
		return
	}
	page, err := begin(lookingglass.DiffPeer(snapshot, peer))
	if err != nil {
		s.failWith(w, err)
		return
	}
	reply(w, http.StatusOK, page)
}

// peerPage is the comparison of a peer in a reply: the beginning of each list, and in Counts the full lengths.
type peerPage struct {
	lookingglass.PeerDiff
	Differences []json.RawMessage `json:"differences"`
	Held        []json.RawMessage `json:"held"`
	Withheld    []json.RawMessage `json:"withheld"`
	Counts      map[string]int    `json:"counts"`
	Truncated   bool              `json:"truncated"`
}

func begin(d lookingglass.PeerDiff) (p peerPage, err error) {
	p = peerPage{PeerDiff: d, Counts: map[string]int{"differences": len(d.Differences), "held": len(d.Held), "withheld": len(d.Withheld)}}
	var e [3]error
	p.Differences, e[0] = beginning(d.Differences)
	p.Held, e[1] = beginning(d.Held)
	p.Withheld, e[2] = beginning(d.Withheld)
	p.Truncated = len(p.Differences)+len(p.Held)+len(p.Withheld) < len(d.Differences)+len(d.Held)+len(d.Withheld)
	return p, errors.Join(e[:]...)
}

func beginning[T any](all []T) ([]json.RawMessage, error) {
	list, _, err := fitting(min(len(all), routeLimit), func(i int) T { return all[i] })
	return list, err
}

func (s *Server) generations(w http.ResponseWriter, q url.Values) {
	if err := unknown(q, "from", "to", "peer", "limit"); err != nil {
		s.failWith(w, err)
		return
	}
	limit := routeLimit
	if text := q.Get("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > routeLimitMax {
			s.failWith(w, &ruleset.Invalid{Field: "limit", Message: fmt.Sprintf("%q is not a number from 1 to %d", text, routeLimitMax)})
			return
		}
	}
	var sets [2]*ruleset.Set
	for i, field := range []string{"from", "to"} {
		generation, err := strconv.ParseUint(q.Get(field), 10, 64)
		if err != nil {
			s.failWith(w, &ruleset.Invalid{Field: field, Message: fmt.Sprintf("%q is not the number of a generation", q.Get(field))})
			return
		}
		set, low, high := s.Engine.Past(generation)
		if set == nil {
			fail(w, http.StatusNotFound, "unknown-generation", field, forgotten(generation, low, high))
			return
		}
		sets[i] = set
	}
	limit = min(limit, pageRoutes)
	peer := q.Get("peer")
	if peer != "" {
		_, before := sets[0].Peer(peer)
		if _, after := sets[1].Peer(peer); !before && !after {
			fail(w, http.StatusNotFound, "not-found", "peer", fmt.Sprintf("there is no peer %q in either generation", peer))
			return
		}
	}
	reply(w, http.StatusOK, lookingglass.Generations(s.Engine, sets[0], sets[1], peer, limit))
}

func forgotten(generation, low, high uint64) string {
	if high == 0 {
		return fmt.Sprintf("generation %d is not known: there is no rule set yet", generation)
	}
	return fmt.Sprintf("generation %d is not known here (any more): known are those from %d to %d that were in force since the start", generation, low, high)
}
