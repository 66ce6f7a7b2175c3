package session

import (
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// outgrown is what a session is told whose peer wants a family that has become useful since it opened: families are only
// negotiated in OPEN messages.
func outgrown() *wire.Notification {
	return &wire.Notification{Code: wire.Cease, Subcode: wire.OtherConfiguration, Text: "another family can be negotiated now"}
}

// agree leaves of the families in the peer's OPEN those that we offered, and remembers the others. It says whether there
// is one that carries routes.
func (c *connection) agree() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	common := false
	for f := range wire.Families {
		c.declined[f] = c.remote.Families[f] && !c.offered[f]
		c.remote.Families[f] = c.remote.Families[f] && c.offered[f]
		common = common || c.remote.Families[f] && f != wire.RTC
	}
	return common
}

// outgrown says whether a family that the peer wants and was not offered is useful by a rule set.
func (c *connection) outgrown(set *ruleset.Set) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.declined == [wire.Families]bool{} {
		return false // nearly always, and asked for every session at every change
	}
	useful := set.Useful(c.peer.Name)
	for f := range wire.Families {
		if c.declined[f] && useful[f] {
			return true
		}
	}
	return false
}
