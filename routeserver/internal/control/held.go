package control

import (
	"fmt"
	"net/http"

	"weft/routeserver/internal/lookingglass"
)

// held returns a page of the routes that the poison-route guard holds back, from one peer or from all.
func (s *Server) held(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if err := unknown(q, "peer", "limit", "cursor"); err != nil {
		s.failWith(w, err)
		return
	}
	peer := q.Get("peer")
	if _, known := s.Engine.Set().Peer(peer); peer != "" && !known {
		fail(w, http.StatusNotFound, "not-found", "peer", fmt.Sprintf("there is no peer %q", peer))
		return
	}
	limit, after, err := pageOf(q)
	if err != nil {
		s.failWith(w, err)
		return
	}
	h, more := s.Engine.HeldPage(peer, after, limit)
	list, cut, err := fitting(len(h.Routes), func(i int) lookingglass.HeldRoute { return lookingglass.DescribeHeldRoute(h.Routes[i]) })
	if err != nil {
		s.failWith(w, err)
		return
	}
	sources, apart := lookingglass.DescribeSources(h)
	page := map[string]any{"routes": list, "sources": sources, "apart": apart, "next": nil}
	if more || cut {
		page["next"] = cursor(h.Routes[len(list)-1].Place())
	}
	reply(w, http.StatusOK, page)
}

// release sends a peer the routes that are held back from it: one route, or all.
func (s *Server) release(w http.ResponseWriter, r *http.Request) {
	peer, known := s.peerOf(w, r)
	if !known {
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
