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

// DescribeHeldRoute converts a route that is held back for a reply.
func DescribeHeldRoute(r engine.HeldRoute) HeldRoute {
	return HeldRoute{
		r.Peer, r.Family.String(), r.Text(), hex.EncodeToString([]byte(r.NLRI)), r.Announcer, r.Endpoint, r.Times, *describeHeld(r.HeldBack),
	}
}

// DescribeSources converts the sources and the families apart for a reply.
func DescribeSources(h engine.Held) (sources []HeldSource, apart []Apart) {
	sources, apart = []HeldSource{}, []Apart{}
	for _, s := range h.Sources {
		sources = append(sources, HeldSource{s.Peer, s.Announcer, moment(s.Until)})
	}
	for _, a := range h.Apart {
		apart = append(apart, Apart{a.Peer, a.Family, moment(a.Until)})
	}
	return sources, apart
}

// holding describes why a route is held back from a peer.
func holding(p *engine.Path, h *engine.HeldBack) string {
	if h.Verdict == engine.Poison {
		return fmt.Sprintf("held back from %s until %s, which ended its session for it: %s", p.ToPeer, h.Until.UTC().Format(time.RFC3339), h.Why)
	}
	return fmt.Sprintf("held back from %s until it was tried by itself, since that may have ended its session for it: %s", p.ToPeer, h.Why)
}
