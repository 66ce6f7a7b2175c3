package ruleset

import "weft/routeserver/internal/wire"

// Useful returns the families that a session with a peer offers: those of the peer's endpoints, and traffic filters beside
// them. Layer 2 families and RT-Constrain are always offered, as a session may open before the peer has an endpoint.
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
