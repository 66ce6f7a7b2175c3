// Package lookingglass describes the received and sent routes, with the reasons, in words and JSON.
package lookingglass

import (
	"encoding/hex"
	"time"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/wire"
)

// Route is one route of one table.
type Route struct {
	Table      string         `json:"table"`
	Family     string         `json:"family"`
	NLRI       string         `json:"nlri"`
	Key        string         `json:"key"` // hex; the same for all versions of a route
	Endpoint   string         `json:"endpoint,omitempty"`
	Peer       string         `json:"peer"`
	To         string         `json:"to,omitempty"`
	Pool       string         `json:"pool,omitempty"` // in the table of pools
	RD         string         `json:"rd"`
	RTs        []string       `json:"rts"`
	NextHop    string         `json:"next_hop"`
	ReceivedAt *time.Time     `json:"received_at"`
	SentAt     *time.Time     `json:"sent_at,omitempty"`
	Reason     string         `json:"reason,omitempty"`
	Withheld   string         `json:"withheld,omitempty"` // reason why it is not sent though it should be: message-size
	Stale      bool           `json:"stale,omitempty"`    // from before the peer's session was lost
	StaleUntil *time.Time     `json:"stale_until,omitempty"`
	LongLived  bool           `json:"long_lived,omitempty"` // long-lived stale: the least preferred
	Held       *HeldBack      `json:"held,omitempty"`       // adj-out: it is not sent
	Attributes map[string]any `json:"attributes"`
	Details    map[string]any `json:"details"`
}

// Describe converts a route for a reply.
func Describe(v engine.View) Route {
	r := Route{
		Table: v.Table, Family: v.Family.String(), NLRI: v.Family.Text(v.NLRI),
		Key: hex.EncodeToString([]byte(v.Family.Key(v.NLRI))), Endpoint: v.Endpoint, Peer: v.Peer, To: v.To, Pool: v.Pool,
		RD: v.Family.Distinguisher(v.NLRI), RTs: targets(v.Targets), NextHop: v.Attributes.Hop(),
		ReceivedAt: moment(v.Received), SentAt: moment(v.Sent), Withheld: v.Withheld, Reason: string(v.Reason), Stale: !v.StaleUntil.IsZero(), StaleUntil: moment(v.StaleUntil), LongLived: v.LongLived,
		Attributes: v.Attributes.Describe(), Details: v.Family.Fields(v.NLRI),
	}
	if v.Held != nil {
		r.Held = describeHeld(*v.Held)
	}
	return r
}

func targets(communities string) []string {
	list := []string{}
	for _, rt := range wire.RTs(communities) {
		list = append(list, rt.String())
	}
	return list
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
