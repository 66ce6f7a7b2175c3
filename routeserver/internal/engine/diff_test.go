package engine_test

import (
	"fmt"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/lookingglass"
)

// init compares the looking glass's own model with the engine wherever the tests compare theirs.
func init() {
	engine.Inspect = func(e *engine.Engine, peer string) string {
		d := lookingglass.DiffPeer(e.Snapshot(peer), peer)
		if len(d.Differences) == 0 {
			return ""
		}
		return fmt.Sprintf("%+v", d.Differences)
	}
}
