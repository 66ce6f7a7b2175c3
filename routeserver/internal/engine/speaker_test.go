package engine

import (
	"fmt"
	"net/netip"
	"sort"
	"strings"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/out"
	"weft/routeserver/internal/wire"
)

// speaker is a PE without a network: it sends and receives real messages, coded by gobgp.
type speaker struct {
	t        testing.TB
	engine   *Engine
	name     string
	peer     *Peer
	from     wire.Neighbour
	families [wire.Families]bool
	rib      map[string]entry // by NLRI
	remnants map[string]bool  // NLRIs in rib from before the session
	fading   map[string]bool  // NLRIs in rib that have not come again since an enhanced refresh began
	slow     bool             // takes from its queue only when told to
	flight   []out.Taken      // what a slow one has begun to take

	waiting [wire.Families]bool            // for its own End-of-RIB, after its restart
	long    [wire.Families]bool            // waiting, and its routes were long-lived stale when it came back
	spent   [wire.Families]bool            // the long time of these routes is over
	again   [wire.Families]map[string]bool // routes that it has not announced again since its enhanced refresh began

	replaced map[string]map[string]bool // label blocks that were replaced by others, by route
	murky    map[string]bool            // routes that it has announced while they were ineligible

	constrains, settled, spoil bool // speaks RT-Constrain; has said what it wants; sends malformed UPDATEs
	wishes                     map[wish]bool
}

func newSpeaker(t testing.TB, e *Engine, name string, families [wire.Families]bool, restart wire.Restart) *speaker {
	config, _ := e.Set().Peer(name)
	address := netip.MustParseAddr(config.Address).As4()
	s := &speaker{
		t: t, engine: e, name: name, families: families, constrains: families[wire.RTC], wishes: map[wish]bool{},
		rib: map[string]entry{}, remnants: map[string]bool{}, fading: map[string]bool{},
		replaced: map[string]map[string]bool{}, murky: map[string]bool{},
	}
	open, err := (&wire.Open{ASN: config.ASN, HoldTime: 90, ID: address, Families: families}).Message()
	if err != nil {
		t.Fatal(err)
	}
	said := &wire.Open{ID: address, FourOctet: !narrow(name), Families: families, Restart: restart}
	s.from = e.Neighbour(config, said)
	s.peer = e.Establish(config, said, Opening{Sent: open, Received: open})
	if s.peer == nil {
		t.Fatalf("%s was refused", name)
	}
	return s
}

// current returns the routes that the PE was sent in this session.
func (s *speaker) current() map[string]entry {
	current := map[string]entry{}
	for text, e := range s.rib {
		if !s.remnants[text] {
			current[text] = e
		}
	}
	return current
}

// hop returns the next hop of the routes that the PE announces.
func (s *speaker) hop() string { return hopOf(s.name) }

// update returns a message about routes of one family. extra are further attributes.
func (s *speaker) update(list []offer, rts []string, how along, extra ...bgp.PathAttributeInterface) []byte {
	f := list[0].family
	reach, err := bgp.NewPathAttributeMpReachNLRI(bgp.NewFamily(f.AFI(), f.SAFI()), paths(list), netip.MustParseAddr(s.hop()))
	s.check(err)
	attributes := append([]bgp.PathAttributeInterface{bgp.NewPathAttributeOrigin(0), reach}, s.border(how)...)
	communities := []bgp.ExtendedCommunityInterface{bgp.NewVPLSExtended(0, 1450)}
	for _, rt := range rts {
		c, err := bgp.ParseRouteTarget(rt)
		s.check(err)
		communities = append(communities, c)
	}
	switch {
	case how.stray && f.Flow():
		communities = append(communities, bgp.NewRedirectTwoOctetAsSpecificExtended(65000, 1))
	case how.stray: // an IPv6-specific route target
		value := append([]byte{0, 2, 0x20, 1, 0xd, 0xb8}, make([]byte, 14)...)
		extra = append(extra, bgp.NewPathAttributeUnknown(bgp.BGP_ATTR_FLAG_OPTIONAL|bgp.BGP_ATTR_FLAG_TRANSITIVE, 25, value))
	}
	attributes = append(append(attributes, bgp.NewPathAttributeExtendedCommunities(communities)), extra...)
	return s.message(attributes)
}

func (s *speaker) message(attributes []bgp.PathAttributeInterface) []byte {
	message, err := bgp.NewBGPUpdateMessage(nil, attributes, nil).Serialize()
	s.check(err)
	return message
}

func (s *speaker) check(err error) {
	if err != nil {
		s.t.Fatal(err)
	}
}

func paths(list []offer) (paths []bgp.PathNLRI) {
	for _, o := range list {
		paths = append(paths, bgp.PathNLRI{NLRI: o.nlri})
	}
	return paths
}

func (s *speaker) send(message []byte) {
	u, err := s.from.ParseUpdate(message[wire.HeaderLength:])
	s.check(err)
	s.check(s.engine.Update(s.peer, u))
}

// spoilt gives a message's ORIGIN the value 9.
func spoilt(message []byte) []byte {
	message[strings.Index(string(message), "\x40\x01\x01\x00")+3] = 9
	return message
}

// replace records that a label block replaced another.
func (s *speaker) replace(route, old, present string) {
	if s.replaced[route] == nil {
		s.replaced[route] = map[string]bool{}
	}
	s.replaced[route][old] = true
	delete(s.replaced[route], present)
}

func (s *speaker) withdraw(list []offer) {
	if len(list) == 0 {
		return
	}
	f := list[0].family
	unreach, err := bgp.NewPathAttributeMpUnreachNLRI(bgp.NewFamily(f.AFI(), f.SAFI()), paths(list))
	s.check(err)
	s.send(s.message([]bgp.PathAttributeInterface{unreach}))
}

// take begins to take what is in the queue.
func (s *speaker) take() bool {
	taken, more := s.peer.Queue.Take(false)
	if more {
		s.flight = append(s.flight, taken)
	}
	return more
}

// drain reads everything that is in the queue.
func (s *speaker) drain() {
	for len(s.flight) > 0 || s.take() {
		var stream []byte
		for _, b := range s.flight[0].Buffers {
			stream = append(stream, b...)
		}
		s.hear(stream)
		s.peer.Queue.Written(s.flight[0])
		s.flight = s.flight[1:]
	}
}

func (s *speaker) hear(stream []byte) {
	for len(stream) > 0 {
		m, err := bgp.ParseBGPMessage(stream, &bgp.MarshallingOption{Use2ByteAS: s.from.TwoOctet})
		if err != nil {
			s.t.Fatalf("%s was sent what gobgp cannot read: %v", s.name, err)
		}
		stream = stream[m.Header.Len:]
		switch body := m.Body.(type) {
		case *bgp.BGPRouteRefresh:
			f, _ := wire.FamilyOf(body.AFI, body.SAFI)
			s.refreshed(f, body.Demarcation)
		case *bgp.BGPUpdate:
			if end, f := body.IsEndOfRib(); end {
				ours, _ := wire.FamilyOf(f.Afi(), f.Safi())
				s.drop(s.remnants, ours)
				continue
			}
			s.updated(body)
		}
	}
}

// drop removes marked routes of a family.
func (s *speaker) drop(marked map[string]bool, f wire.Family) {
	for text := range marked {
		if s.rib[text].family == f {
			delete(s.rib, text)
			delete(s.remnants, text)
			delete(s.fading, text)
		}
	}
}

// refreshed handles the begin or end of an enhanced refresh (RFC 7313) that the PE asked for.
func (s *speaker) refreshed(f wire.Family, kind uint8) {
	if kind == wire.RefreshBegin {
		for text, e := range s.rib {
			if e.family == f {
				s.fading[text] = true
			}
		}
		return
	}
	s.drop(s.fading, f)
}

func (s *speaker) updated(u *bgp.BGPUpdate) {
	var rts []string
	hop, mark := "", ""
	for _, a := range u.PathAttributes {
		switch a := a.(type) {
		case *bgp.PathAttributeCommunities:
			mark = marked(a.Value)
		case *bgp.PathAttributeMpReachNLRI:
			hop = a.Nexthop.Unmap().String()
		case *bgp.PathAttributeExtendedCommunities:
			for _, c := range a.Value {
				if kind, sub := c.GetTypes(); sub == bgp.EC_SUBTYPE_ROUTE_TARGET && kind <= 2 {
					rts = append(rts, c.String())
				}
			}
		}
	}
	sort.Strings(rts)
	for _, a := range u.PathAttributes {
		switch a := a.(type) {
		case *bgp.PathAttributeMpReachNLRI:
			f, _ := wire.FamilyOf(a.AFI, a.SAFI)
			for _, n := range a.Value {
				if f == wire.RTC {
					continue // the route server asks for everything
				}
				text := n.NLRI.String()
				s.rib[text] = entry{"", strings.Join(rts, " "), described(f, hop, n.NLRI) + borderOf(u.PathAttributes) + mark, f}
				delete(s.remnants, text)
				delete(s.fading, text)
			}
		case *bgp.PathAttributeMpUnreachNLRI:
			for _, n := range a.Value {
				text := n.NLRI.String()
				delete(s.rib, text)
				delete(s.remnants, text)
				delete(s.fading, text)
			}
		}
	}
}

// described returns what a route has besides its key, its route targets and the attributes that concern ASes.
func described(f wire.Family, hop string, n bgp.NLRI) string {
	if f.Flow() {
		hop = ""
	}
	labels := ""
	if n, ok := n.(*bgp.LabeledVPNIPAddrPrefix); ok {
		labels = n.Labels.String()
	}
	return fmt.Sprintf("via %s %s ", hop, labels)
}
