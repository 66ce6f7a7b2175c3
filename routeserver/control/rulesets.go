package control

import (
	"encoding/json"
	"net/http"

	"weft/routeserver/ruleset"
)

func (s *Server) ruleset(w http.ResponseWriter, _ *http.Request) {
	if _, loaded, _ := s.Engine.Generation(); !loaded {
		fail(w, http.StatusNotFound, "no-ruleset", "", "there is no rule set yet")
		return
	}
	reply(w, http.StatusOK, s.Engine.Set().Document())
}

func (s *Server) replace(w http.ResponseWriter, r *http.Request) {
	force := r.URL.Query().Get("force")
	if force != "" && force != "true" && force != "false" {
		fail(w, http.StatusBadRequest, "invalid", "force", "force: is true or false")
		return
	}
	body, err := read(w, r)
	if err != nil {
		s.failWith(w, err)
		return
	}
	document, err := ruleset.DecodeDocument(body)
	if err != nil {
		s.failWith(w, err)
		return
	}
	receipt, err := s.Engine.Replace(document, force == "true")
	if err != nil {
		s.failWith(w, err)
		return
	}
	reply(w, http.StatusOK, receipt)
}

func (s *Server) change(w http.ResponseWriter, r *http.Request) {
	body, err := read(w, r)
	if err != nil {
		s.failWith(w, err)
		return
	}
	change, err := ruleset.DecodeChange(body)
	if err != nil {
		s.failWith(w, err)
		return
	}
	receipt, err := s.Engine.Change(change)
	if err != nil {
		s.failWith(w, err)
		return
	}
	reply(w, http.StatusOK, receipt)
}

func (s *Server) confirm(w http.ResponseWriter, r *http.Request) {
	body, err := read(w, r)
	if err != nil {
		s.failWith(w, err)
		return
	}
	var request struct {
		Generation *uint64 `json:"generation"`
	}
	if err := json.Unmarshal(body, &request); err != nil || request.Generation == nil {
		fail(w, http.StatusBadRequest, "invalid", "generation", "generation: a JSON object with the generation's number is expected")
		return
	}
	if err := s.Engine.Confirm(*request.Generation); err != nil {
		s.failWith(w, err)
		return
	}
	reply(w, http.StatusOK, map[string]any{"generation": *request.Generation, "confirmed": true})
}
