package control

import (
	"fmt"
	"net/http"

	"weft/routeserver/internal/session"
	"weft/routeserver/internal/wire"
)

// reset ends a peer's session, with a text for the operators at the other end.
func (s *Server) reset(w http.ResponseWriter, r *http.Request) {
	peer, known := s.peerOf(w, r)
	if !known {
		return
	}
	var request struct {
		Text string `json:"text"`
	}
	if !s.readOptional(w, r, &request, "text", "why") {
		return
	}
	if err := session.CheckText(request.Text); err != nil {
		fail(w, http.StatusBadRequest, "invalid", "text", "text: "+err.Error())
		return
	}
	before := s.Engine.Account(peer)
	was, graceful := s.Sessions.Reset(peer, request.Text)
	if was == session.Idle || was == session.Active {
		fail(w, http.StatusConflict, "no-session", "", fmt.Sprintf("there is no session with %q", peer))
		return
	}
	in, out := 0, 0
	for f := range wire.Families {
		in, out = in+before.In[f], out+before.Out[f]
	}
	reply(w, http.StatusOK, map[string]any{"peer": peer, "was": was, "graceful": graceful, "prefixes_in": in, "prefixes_out": out})
}
