package control

import (
	"net/http"

	"weft/routeserver/internal/twin"
)

// standing answers the twin's query once a second: a few numbers, whatever the size of the region.
func (s *Server) standing(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, twin.Of(s.Engine))
}

// twinSeen returns the state of the twin, as users see it.
func twinSeen(t *twin.Twin) map[string]any {
	seen, err := t.Seen()
	body := map[string]any{"name": seen.Name, "generation": seen.Generation, "in_touch": seen.InTouch, "reachable": err == nil, "error": ""}
	if err != nil {
		body["error"] = err.Error()
	}
	return body
}
