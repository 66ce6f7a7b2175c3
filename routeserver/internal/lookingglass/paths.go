package lookingglass

import (
	"time"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/wire"
)

// Path is one announcement of a route, and what others are sent of it.
type Path struct {
	Route
	State string   `json:"state"` // accepted, quarantined
	Pools []string `json:"pools"`
	Sent  []Form   `json:"sent"`
}

// Form is what one kind of recipients is sent of a route: all have the same attributes, except for the route targets.
type Form struct {
	External   bool           `json:"external"` // they are in another AS
	NextHop    string         `json:"next_hop"`
	Attributes map[string]any `json:"attributes"`
	To         []Recipient    `json:"to"`
}

// Recipient is a PE that is sent a route, or is to have it.
type Recipient struct {
	Peer     string     `json:"peer"`
	RTs      []string   `json:"rts"`
	SentAt   *time.Time `json:"sent_at,omitempty"`
	Withheld string     `json:"withheld,omitempty"`
	Held     *HeldBack  `json:"held,omitempty"`
}

// GonePath is a route that a peer has withdrawn.
type GonePath struct {
	Peer     string     `json:"peer"`
	Family   string     `json:"family"`
	NLRI     string     `json:"nlri"`
	Endpoint string     `json:"endpoint,omitempty"`
	At       *time.Time `json:"at"`
}

// States of a path.
const acceptedPath, quarantinedPath = "accepted", "quarantined"

// DescribePath converts an announcement of a route for a reply.
func DescribePath(p engine.RoutePath) Path {
	d := Path{Route: Describe(p.View), State: acceptedPath, Pools: list(p.Pools), Sent: []Form{}}
	if p.Reason != "" {
		d.State = quarantinedPath
	}
	forms := map[wire.Kind]int{}
	for i, v := range p.Out {
		n, there := forms[p.Kinds[i]]
		if !there {
			n = len(d.Sent)
			forms[p.Kinds[i]] = n
			d.Sent = append(d.Sent, Form{p.Kinds[i].External, v.Attributes.Hop(), v.Attributes.Describe(), nil})
		}
		r := Recipient{Peer: v.To, RTs: targets(v.Targets), SentAt: moment(v.Sent), Withheld: v.Withheld}
		if v.Held != nil {
			r.Held = describeHeld(*v.Held)
		}
		d.Sent[n].To = append(d.Sent[n].To, r)
	}
	return d
}

// DescribeGone converts a withdrawn route for a reply.
func DescribeGone(g engine.GonePath) GonePath {
	return GonePath{g.Peer, g.Family.String(), g.Family.Text(g.NLRI), g.Endpoint, moment(g.At)}
}
