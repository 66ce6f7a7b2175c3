package ruleset

import (
	"fmt"
	"net/netip"
	"slices"

	"weft/routeserver/internal/wire"
)

// Build checks a document and makes a set from it.
func Build(d *Document) (*Set, error) {
	s := Empty()
	s.Generation = d.Generation
	s.ops = wholeWeight * lightOps
	for i := range d.Peers {
		if _, again := s.peers.find(d.Peers[i].Name); again {
			return nil, invalid(fmt.Sprintf("peers[%d].name", i), "%q is there twice", d.Peers[i].Name)
		}
		if err := s.setPeer(&d.Peers[i]); err != nil {
			return nil, within(fmt.Sprintf("peers[%d]", i), err)
		}
	}
	for i := range d.Endpoints {
		if s.endpoints.look(d.Endpoints[i].Name) != nil {
			return nil, invalid(fmt.Sprintf("endpoints[%d].name", i), "%q is there twice", d.Endpoints[i].Name)
		}
		if err := s.setEndpoint(&d.Endpoints[i]); err != nil {
			return nil, within(fmt.Sprintf("endpoints[%d]", i), err)
		}
	}
	for i := range d.Vcps {
		if _, again := s.vcps.find(d.Vcps[i].Name); again {
			return nil, invalid(fmt.Sprintf("vcps[%d].name", i), "%q is there twice", d.Vcps[i].Name)
		}
		if err := s.setVcp(&d.Vcps[i]); err != nil {
			return nil, within(fmt.Sprintf("vcps[%d]", i), err)
		}
	}
	return s, nil
}

// Apply makes the set that results from a change. It never changes the receiver.
func (s *Set) Apply(c *Change) (*Set, error) {
	if c.Generation <= c.Base {
		return nil, invalid("generation", "%d is not after base %d", c.Generation, c.Base)
	}
	next := s.clone()
	next.Generation, next.ops = c.Generation, len(c.Ops)
	for i := range c.Ops {
		if err := next.apply(&c.Ops[i]); err != nil {
			return nil, within(fmt.Sprintf("ops[%d]", i), err)
		}
	}
	return next, nil
}

func (s *Set) apply(o *Operation) error {
	switch o.Op {
	case SetPeer:
		return inside("peer", s.setPeer(o.Peer))
	case SetEndpoint:
		return inside("endpoint", s.setEndpoint(o.Endpoint))
	case SetVcp:
		return inside("vcp", s.setVcp(o.Vcp))
	case RemovePeer:
		return s.removePeer(o.Name)
	case RemoveEndpoint:
		return s.removeEndpoint(o.Name)
	case RemoveVcp:
		if _, there := s.vcps.find(o.Name); !there {
			return invalid("name", "there is no VCP %q", o.Name)
		}
		s.members(o.Name, nil)
		s.vcps.remove(o.Name)
		return nil
	case Join, Leave:
		return s.joinOrLeave(o)
	}
	return invalid("op", "%q is not an operation", o.Op)
}

func inside(prefix string, err error) error {
	if err == nil {
		return nil
	}
	return within(prefix, err)
}

func (s *Set) setPeer(p *Peer) error {
	if p.Name == "" {
		return invalid("name", "is empty")
	}
	address, err := netip.ParseAddr(p.Address)
	if err != nil || address.IsUnspecified() || address.Zone() != "" {
		return invalid("address", "%q is not an IP address", p.Address)
	}
	if p.ASN == 0 {
		return invalid("asn", "0 is not an AS number")
	}
	if p.ASN == wire.ASTrans {
		return invalid("asn", "%d stands for AS numbers of four octets and is nobody's (RFC 6793)", p.ASN)
	}
	if p.TTLSecurity < 0 || p.TTLSecurity > 255 {
		return invalid("ttl_security", "%d hops is not between 1 and 255", p.TTLSecurity)
	}
	address = address.Unmap()
	if other, taken := s.byAddress.find(address); taken && other != p.Name {
		return invalid("address", "%s is the address of peer %q already", p.Address, other)
	}
	if old, there := s.peers.find(p.Name); there {
		s.byAddress.remove(netip.MustParseAddr(old.Address).Unmap())
	}
	s.peers.put(p.Name, *p)
	s.byAddress.put(address, p.Name)
	return nil
}

func (s *Set) removePeer(name string) error {
	p, there := s.peers.find(name)
	if !there {
		return invalid("name", "there is no peer %q", name)
	}
	if sites := s.sites.look(name); len(sites) > 0 {
		return invalid("name", "peer %q still has endpoint %q", name, sites[0].Name)
	}
	s.peers.remove(name)
	s.sites.remove(name)
	s.byAddress.remove(netip.MustParseAddr(p.Address).Unmap())
	return nil
}

func (s *Set) setEndpoint(e *Endpoint) error {
	if e.Name == "" {
		return invalid("name", "is empty")
	}
	if _, there := s.peers.find(e.Peer); !there {
		return invalid("peer", "there is no peer %q", e.Peer)
	}
	family, err := wire.ParseFamily(e.Family)
	if err != nil {
		return invalid("family", "%s", err)
	}
	if !family.Main() {
		return invalid("family", "%s goes beside an endpoint's main family and cannot be it", e.Family)
	}
	rt, err := wire.ParseRT(e.RT)
	if err != nil {
		return invalid("rt", "%s", err)
	}
	rd, err := wire.ParseRD(e.RD)
	if err != nil {
		return invalid("rd", "%s", err)
	}
	if e.MaxRoutes < 0 {
		return invalid("max_routes", "%d is less than 0", e.MaxRoutes)
	}
	grant, err := e.Permits.grant()
	if err != nil {
		return within("permits", err)
	}
	if other := s.byRT.look(rt); other != nil && other.Name != e.Name {
		return invalid("rt", "%s belongs to endpoint %q already", e.RT, other.Name)
	}
	if other := s.byRD.look(rd); other != nil && other.Name != e.Name {
		return invalid("rd", "%s belongs to endpoint %q already", e.RD, other.Name)
	}
	s.detach(e.Name)
	site := &Site{Endpoint: *e, Main: family, Target: rt, Dist: rd, Grant: grant}
	s.endpoints.put(e.Name, site)
	s.byRT.put(rt, site)
	s.byRD.put(rd, site)
	for _, mac := range site.macs() {
		s.byMAC.put(mac, append(slices.Clone(s.byMAC.look(mac)), e.Name))
	}
	s.sites.put(e.Peer, append(slices.Clone(s.sites.look(e.Peer)), site))
	return nil
}

// detach removes an endpoint from the indexes by peer, route target, RD and MAC, but leaves it in its pools.
func (s *Set) detach(name string) {
	old := s.endpoints.look(name)
	if old == nil {
		return
	}
	s.byRT.remove(old.Target)
	s.byRD.remove(old.Dist)
	for _, mac := range old.macs() {
		if rest := without(s.byMAC.look(mac), name); len(rest) > 0 {
			s.byMAC.put(mac, rest)
		} else {
			s.byMAC.remove(mac)
		}
	}
	s.sites.put(old.Peer, slices.DeleteFunc(slices.Clone(s.sites.look(old.Peer)), func(f *Site) bool { return f.Name == name }))
}

func (s *Set) removeEndpoint(name string) error {
	if s.endpoints.look(name) == nil {
		return invalid("name", "there is no endpoint %q", name)
	}
	for _, vcp := range slices.Clone(s.pools.look(name)) {
		s.members(vcp, without(s.vcps.look(vcp), name))
	}
	s.detach(name)
	s.endpoints.remove(name)
	return nil
}

func (s *Set) setVcp(v *Vcp) error {
	if v.Name == "" {
		return invalid("name", "is empty")
	}
	members := slices.Clone(v.Members)
	for i, m := range members {
		if s.endpoints.look(m) == nil {
			return invalid(fmt.Sprintf("members[%d]", i), "there is no endpoint %q", m)
		}
		if slices.Contains(members[:i], m) {
			return invalid(fmt.Sprintf("members[%d]", i), "%q is there twice", m)
		}
	}
	slices.Sort(members)
	s.members(v.Name, members)
	return nil
}

func (s *Set) joinOrLeave(o *Operation) error {
	members, there := s.vcps.find(o.Pool)
	if !there {
		return invalid("vcp", "there is no VCP %q", o.Pool)
	}
	if s.endpoints.look(o.Member) == nil {
		return invalid("endpoint", "there is no endpoint %q", o.Member)
	}
	at, member := slices.BinarySearch(members, o.Member)
	switch {
	case o.Op == Join && member:
		return invalid("endpoint", "%q is a member of VCP %q already", o.Member, o.Pool)
	case o.Op == Leave && !member:
		return invalid("endpoint", "%q is not a member of VCP %q", o.Member, o.Pool)
	case o.Op == Join:
		s.members(o.Pool, slices.Insert(slices.Clone(members), at, o.Member))
	default:
		s.members(o.Pool, without(members, o.Member))
	}
	return nil
}

// members replaces a pool's members and updates the index by endpoint.
func (s *Set) members(vcp string, now []string) {
	for _, e := range s.vcps.look(vcp) {
		if _, stays := slices.BinarySearch(now, e); !stays {
			s.pools.put(e, without(s.pools.look(e), vcp))
			if len(s.pools.look(e)) == 0 {
				s.pools.remove(e)
			}
		}
	}
	for _, e := range now {
		if at, there := slices.BinarySearch(s.pools.look(e), vcp); !there {
			s.pools.put(e, slices.Insert(slices.Clone(s.pools.look(e)), at, vcp))
		}
	}
	s.vcps.put(vcp, now)
}

func without(list []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == one })
}
