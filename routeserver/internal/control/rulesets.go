package control

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"weft/routeserver/internal/ruleset"
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
	within, err := confirmWithin(r)
	if err != nil {
		s.failWith(w, err)
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
	receipt, err := s.Engine.ReplaceOnTrial(document, force == "true", within)
	if err != nil {
		s.failWith(w, err)
		return
	}
	reply(w, http.StatusOK, receipt)
}

// maxWithin is the longest time that a rule set may be on trial.
const maxWithin = 24 * time.Hour

// confirmWithin returns the time within which a rule set has to be confirmed, or 0.
func confirmWithin(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("confirm_within")
	if text == "" {
		return 0, nil
	}
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < 1 || seconds > int(maxWithin/time.Second) {
		return 0, &ruleset.Invalid{Field: "confirm_within", Message: fmt.Sprintf("%q is not a number of seconds from 1 to %d", text, int(maxWithin/time.Second))}
	}
	return time.Duration(seconds) * time.Second, nil
}

func (s *Server) change(w http.ResponseWriter, r *http.Request) {
	within, err := confirmWithin(r)
	if err != nil {
		s.failWith(w, err)
		return
	}
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
	receipt, err := s.Engine.ChangeOnTrial(change, within)
	if err != nil {
		s.failWith(w, err)
		return
	}
	reply(w, http.StatusOK, receipt)
}

func (s *Server) confirm(w http.ResponseWriter, r *http.Request) {
	s.word(w, r, s.Engine.Confirm)
}

func (s *Server) heartbeat(w http.ResponseWriter, r *http.Request) {
	s.word(w, r, s.Engine.Hear)
}

// word reads a request in which the controller vouches for a generation.
func (s *Server) word(w http.ResponseWriter, r *http.Request, take func(generation uint64) error) {
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
	if err := take(*request.Generation); err != nil {
		s.failWith(w, err)
		return
	}
	reply(w, http.StatusOK, map[string]any{"generation": *request.Generation, "confirmed": true})
}
