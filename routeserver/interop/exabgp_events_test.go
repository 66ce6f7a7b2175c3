package interop

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"

	"weft/routeserver/internal/wire"
)

// event is a line of ExaBGP's output: a message from the route server, or a change of the session's state.
type event struct {
	Type     string
	Neighbor struct {
		State   string
		Message struct {
			Update struct {
				Attribute struct {
					Communities []struct{ String string } `json:"extended-community"`
				}
				Announce map[string]map[string][]exabgpNLRI // by family and next hop
				Withdraw map[string][]exabgpNLRI            // by family
			}
		}
	}
}

type exabgpNLRI struct {
	NLRI, RD, String             string
	Endpoint, Base, Offset, Size int
	To4                          []string `json:"destination-ipv4"`
	To6                          []string `json:"destination-ipv6"`
}

func (n exabgpNLRI) name() string {
	name := n.NLRI
	switch {
	case n.Size > 0:
		return vplsName(n.RD, n.Endpoint, n.Offset, n.Size, n.Base)
	case n.To4 != nil:
		name = "to " + n.To4[0]
	case n.To6 != nil:
		name = "to " + strings.TrimSuffix(n.To6[0], "/0")
	}
	return strings.TrimSpace(n.RD + " " + name)
}

// events returns ExaBGP's output since it started.
func (e *exabgpPE) events() (events []event) {
	e.t.Helper()
	heard, err := os.ReadFile(e.file("heard"))
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(heard) {
		var v event
		if bytes.Contains(line, []byte(`"type": "refresh"`)) {
			line = bytes.ReplaceAll(line, []byte(`""`), []byte(`"`)) // ExaBGP quotes its words twice
		}
		if !bytes.HasPrefix(line, []byte("{")) || !bytes.HasSuffix(line, []byte("\n")) {
			continue // an answer to a command, or an incomplete line
		}
		if err := json.Unmarshal(line, &v); err != nil {
			e.t.Fatalf("ExaBGP said %s: %v", line, err)
		}
		events = append(events, v)
	}
	return events
}

// learned computes the present routes from all messages that ExaBGP received.
func (e *exabgpPE) learned(f wire.Family) table {
	e.t.Helper()
	routes := table{}
	for _, v := range e.events() {
		if v.Neighbor.State == "down" {
			routes = table{}
		}
		update := v.Neighbor.Message.Update
		for _, n := range update.Withdraw[exabgpFamilies[f]] {
			delete(routes, n.name())
		}
		var rts []string
		for _, c := range update.Attribute.Communities {
			if rt, is := strings.CutPrefix(c.String, "target:"); is {
				rts = append(rts, rt)
			}
		}
		for _, list := range update.Announce[exabgpFamilies[f]] {
			for _, n := range list {
				routes[n.name()] = strings.Join(rts, " ")
			}
		}
	}
	return routes
}

func (e *exabgpPE) received() (n int) {
	for _, v := range e.events() {
		if len(v.Neighbor.Message.Update.Announce) > 0 {
			n++
		}
	}
	return n
}
