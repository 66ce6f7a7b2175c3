package engine_test

import (
	"fmt"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/lookingglass"
)

// The looking glass' own model is held against the engine wherever the tests' model is.
func init() {
	engine.Inspect = func(e *engine.Engine, peer string) string {
		d := lookingglass.DiffPeer(e.Snapshot(peer), peer)
		if len(d.Differences) == 0 {
			return ""
		}
		return fmt.Sprintf("%+v", d.Differences)
	}
}
