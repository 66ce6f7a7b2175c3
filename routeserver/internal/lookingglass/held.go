package lookingglass

import (
	"encoding/hex"
	"fmt"
	"time"

	"weft/routeserver/internal/engine"
)

// HeldBack is the reason why a route is held back from a peer.
type HeldBack struct {
	Verdict string     `json:"verdict"` // poison, suspected
	Why     string     `json:"why"`     // the end of the peer's session
	Since   *time.Time `json:"since,omitempty"`
	Until   *time.Time `json:"until,omitempty"`
}

func describeHeld(h engine.HeldBack) *HeldBack {
	return &HeldBack{h.Verdict, h.Why, moment(h.Since), moment(h.Until)}
}

// HeldRoute is a route that is held back from a peer, with a session or without.
type HeldRoute struct {
	Peer      string `json:"peer"`
	Family    string `json:"family"`
	NLRI      string `json:"nlri"`
	Bytes     string `json:"nlri_bytes"` // hex
	Announcer string `json:"announcer"`
	Endpoint  string `json:"endpoint"`
	Times     int    `json:"times"` // number of times that it was found
	HeldBack
}

// HeldSource is a peer whose routes are all held back from another.
type HeldSource struct {
	Peer      string     `json:"peer"`
	Announcer string     `json:"announcer"`
	Until     *time.Time `json:"until"`
}

// Apart is a family whose routes are sent to a peer with one route per message.
type Apart struct {
	Peer   string     `json:"peer"`
	Family string     `json:"family"`
	Until  *time.Time `json:"until"`
}

// Held is the state of the poison-route guard.
type Held struct {
	Routes  []HeldRoute  `json:"routes"`
	Sources []HeldSource `json:"sources"`
	Apart   []Apart      `json:"apart"`
}

// DescribeHeld converts the guard's state for a reply.
func DescribeHeld(h engine.Held) Held {
	d := Held{[]HeldRoute{}, []HeldSource{}, []Apart{}}
	for _, r := range h.Routes {
		d.Routes = append(d.Routes, HeldRoute{
			r.Peer, r.Family, r.Text, hex.EncodeToString([]byte(r.NLRI)), r.Announcer, r.Endpoint, r.Times, *describeHeld(r.HeldBack),
		})
	}
	for _, s := range h.Sources {
		d.Sources = append(d.Sources, HeldSource{s.Peer, s.Announcer, moment(s.Until)})
	}
	for _, a := range h.Apart {
		d.Apart = append(d.Apart, Apart{a.Peer, a.Family, moment(a.Until)})
	}
	return d
}

// holding describes why a route is held back from a peer.
func holding(p *engine.Path, h *engine.HeldBack) string {
	if h.Verdict == engine.Poison {
		return fmt.Sprintf("held back from %s until %s, which ended its session for it: %s", p.ToPeer, h.Until.UTC().Format(time.RFC3339), h.Why)
	}
	return fmt.Sprintf("held back from %s until it was tried by itself, since that may have ended its session for it: %s", p.ToPeer, h.Why)
}
