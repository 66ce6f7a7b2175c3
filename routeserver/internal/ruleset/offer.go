package ruleset

import "weft/routeserver/internal/wire"

// Useful says which families a session with a peer is to offer: those of its endpoints, and traffic filters beside them.
// The layer 2 families are always offered, as sessions may open before a peer has an endpoint; so is RT-Constrain.
func (s *Set) Useful(peer string) (families [wire.Families]bool) {
	families[wire.VPLS], families[wire.EVPN], families[wire.RTC] = true, true, true
	for _, site := range s.sites.look(peer) {
		families[site.Main] = true
		for f := range wire.Families {
			families[f] = families[f] || f.Flow()
		}
	}
	return families
}
