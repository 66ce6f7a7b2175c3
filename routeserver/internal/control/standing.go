package control

import (
	"net/http"

	"weft/routeserver/internal/twin"
)

// standing is what a twin asks for once a second: a few numbers, whatever the size of the region.
func (s *Server) standing(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, twin.Of(s.Engine))
}

// twinSeen is the other route server of the pair as people see it.
func twinSeen(t *twin.Twin) map[string]any {
	seen, err := t.Seen()
	body := map[string]any{"name": seen.Name, "generation": seen.Generation, "in_touch": seen.InTouch, "reachable": err == nil, "error": ""}
	if err != nil {
		body["error"] = err.Error()
	}
	return body
}
