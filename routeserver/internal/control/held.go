package control

import (
	"fmt"
	"net/http"

	"weft/routeserver/internal/lookingglass"
)

// held lists the routes that the poison-route guard holds back, from one peer or from all.
func (s *Server) held(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if err := unknown(q, "peer"); err != nil {
		s.failWith(w, err)
		return
	}
	peer := q.Get("peer")
	if _, known := s.Engine.Set().Peer(peer); peer != "" && !known {
		fail(w, http.StatusNotFound, "not-found", "peer", fmt.Sprintf("there is no peer %q", peer))
		return
	}
	reply(w, http.StatusOK, lookingglass.DescribeHeld(s.Engine.Held(peer)))
}

// release sends a peer the routes that are held back from it: one route, or all.
func (s *Server) release(w http.ResponseWriter, r *http.Request) {
	peer := r.PathValue("peer")
	if _, known := s.Engine.Set().Peer(peer); !known {
		fail(w, http.StatusNotFound, "not-found", "", fmt.Sprintf("there is no peer %q", peer))
		return
	}
	var request struct {
		NLRI string `json:"nlri"`
	}
	if !s.readOptional(w, r, &request, "nlri", "the route, as GET /v1/held has it") {
		return
	}
	routes, sources := s.Engine.Release(peer, request.NLRI)
	if routes+sources == 0 {
		text := fmt.Sprintf("nothing is held back from %q", peer)
		if request.NLRI != "" {
			text = fmt.Sprintf("%s is not held back from %q", request.NLRI, peer)
		}
		fail(w, http.StatusNotFound, "not-held", "", text)
		return
	}
	reply(w, http.StatusOK, map[string]any{"peer": peer, "routes": routes, "sources": sources})
}
