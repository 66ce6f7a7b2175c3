package control

import (
	"fmt"
	"net/http"

	"weft/routeserver/lookingglass"
)

// diff compares what a peer was sent with what the model says.
func (s *Server) diff(w http.ResponseWriter, r *http.Request) {
	peer := r.URL.Query().Get("peer")
	if peer == "" {
		fail(w, http.StatusBadRequest, "invalid", "peer", "peer: the name of a PE is missing")
		return
	}
	snapshot := s.Engine.Snapshot(peer)
	if _, known := snapshot.Set.Peer(peer); !known {
		fail(w, http.StatusNotFound, "not-found", "", fmt.Sprintf("there is no peer %q", peer))
		return
	}
	reply(w, http.StatusOK, lookingglass.DiffPeer(snapshot, peer))
}
