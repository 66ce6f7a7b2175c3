package control

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// heartbeat is the interval of comments that show that an idle stream is alive.
const heartbeat = 15 * time.Second

// events streams events, as server-sent events whose id is the event's sequence number.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	after := r.URL.Query().Get("after")
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		after = id
	}
	var seq uint64
	if after != "" {
		var err error
		if seq, err = strconv.ParseUint(after, 10, 64); err != nil {
			fail(w, http.StatusBadRequest, "invalid", "after", fmt.Sprintf("after: %q is not a sequence number", after))
			return
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	stream := http.NewResponseController(w)
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		events, more := s.Engine.Events.After(seq)
		_ = stream.SetWriteDeadline(time.Now().Add(writeTime)) // for all events that are ready
		for _, e := range events {
			data, err := json.Marshal(e)
			if err != nil {
				return
			}
			if _, err := fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Kind, data); err != nil {
				return
			}
			seq = e.Seq
		}
		if err := stream.Flush(); err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-more:
		case <-tick.C:
			_ = stream.SetWriteDeadline(time.Now().Add(writeTime))
			if _, err := fmt.Fprint(w, ": still here\n\n"); err != nil {
				return
			}
		}
	}
}
