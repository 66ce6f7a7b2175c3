package control

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/wire"
)

// refresh asks a peer for its routes again, or sends it its routes again.
func (s *Server) refresh(w http.ResponseWriter, r *http.Request) {
	peer, known := s.peerOf(w, r)
	if !known {
		return
	}
	request := struct {
		Direction string `json:"direction"`
		Family    string `json:"family"`
	}{Direction: "in"}
	if !s.readOptional(w, r, &request, "direction", "in") {
		return
	}
	wanted := engine.Renewal{In: request.Direction != "out", Out: request.Direction != "in", Every: request.Family == ""}
	if request.Direction != "in" && request.Direction != "out" && request.Direction != "both" {
		fail(w, http.StatusBadRequest, "invalid", "direction", fmt.Sprintf("direction: %q is not in, out or both", request.Direction))
		return
	}
	if !wanted.Every {
		var err error
		if wanted.Family, err = wire.ParseFamily(request.Family); err != nil {
			fail(w, http.StatusBadRequest, "invalid", "family", "family: "+err.Error())
			return
		}
	}
	done, err := s.Engine.Renew(peer, wanted)
	var not *engine.NotRenewed
	if errors.As(err, &not) {
		status := http.StatusConflict
		if not.Wait > 0 {
			status = http.StatusTooManyRequests
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(not.Wait.Seconds()))))
		}
		fail(w, status, not.Code, "", not.Message)
		return
	}
	reply(w, http.StatusOK, map[string]any{"peer": peer, "asked": names(done.Asked), "resent": names(done.Resent), "enhanced": done.Enhanced})
}

func names(families []wire.Family) []string {
	list := []string{}
	for _, f := range families {
		list = append(list, f.String())
	}
	return list
}
