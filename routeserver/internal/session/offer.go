package session

import (
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// outgrown returns the NOTIFICATION that ends a session whose peer wants a family that has become useful since the
// OPEN: only OPEN messages negotiate families.
func outgrown() *wire.Notification {
	return &wire.Notification{Code: wire.Cease, Subcode: wire.OtherConfiguration, Text: "another family can be negotiated now"}
}

// agree removes the families that we did not offer from the peer's OPEN, and records them as declined. It reports
// whether a family is left that carries routes.
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

// outgrown reports whether a family that the peer wants and was not offered is useful by a rule set.
func (c *connection) outgrown(set *ruleset.Set) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.declined == [wire.Families]bool{} {
		return false // the usual case; every change runs this check for every session
	}
	useful := set.Useful(c.peer.Name)
	for f := range wire.Families {
		if c.declined[f] && useful[f] {
			return true
		}
	}
	return false
}
