package control

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"weft/routeserver/internal/lookingglass"
)

// writeTime is the longest time for one write to a reader of a stream.
const writeTime = 10 * time.Second

// watchChange is a line of the stream.
type watchChange struct {
	At   time.Time `json:"at"`
	Kind string    `json:"kind"`
	lookingglass.Route
}

// watch streams changes of routes, as server-sent events. A reader that is too slow is told so and cut off.
func (s *Server) watch(w http.ResponseWriter, r *http.Request) {
	f, err := filter(r.URL.Query())
	if err != nil {
		s.failWith(w, err)
		return
	}
	for _, field := range []string{"table", "limit", "cursor", "reason"} {
		if r.URL.Query().Has(field) {
			fail(w, http.StatusBadRequest, "invalid", field, field+": a stream has none")
			return
		}
	}
	watcher := s.Engine.Watch(f)
	if watcher == nil {
		fail(w, http.StatusServiceUnavailable, "too-many", "", "too many streams of routes at once")
		return
	}
	defer s.Engine.Unwatch(watcher)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	stream := http.NewResponseController(w)
	// send writes an event, and flushes when no more events wait.
	send := func(format string, args ...any) bool {
		_ = stream.SetWriteDeadline(time.Now().Add(writeTime))
		if _, err := fmt.Fprintf(w, format, args...); err != nil {
			return false
		}
		return len(watcher.C) > 0 || stream.Flush() == nil
	}
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for ok := send(": watching\n\n"); ok; {
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
			ok = send(": still here\n\n")
		case c, more := <-watcher.C:
			if !more {
				send("event: cut\ndata: {\"text\": \"cut off: the reader was too slow, changes were lost\"}\n\n")
				return
			}
			watcher.Took(c)
			data, err := json.Marshal(watchChange{c.At.UTC(), c.Kind, lookingglass.Describe(c.View)})
			ok = err == nil && send("event: %s\ndata: %s\n\n", c.Kind, data)
		}
	}
}
