package engine

import (
	"fmt"
	"net/netip"
	"sort"
	"strings"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/wire"
)

// speaker is a PE without a network: what it says and hears goes through real messages, coded by gobgp.
type speaker struct {
	t      *testing.T
	engine *Engine
	name   string
	peer   *Peer
	rib    map[string]string // NLRI text to sorted route targets

	constrains, settled, spoil bool // speaks RT-Constrain; has said what it wants; sends malformed UPDATEs
	wishes                     map[wish]bool
}

func newSpeaker(t *testing.T, e *Engine, name string, restart wire.Restart, constrains bool) *speaker {
	config, _ := e.Set().Peer(name)
	address := netip.MustParseAddr(config.Address).As4()
	s := &speaker{t: t, engine: e, name: name, rib: map[string]string{}, constrains: constrains, wishes: map[wish]bool{}}
	s.peer = e.Resume(config, address, allFamilies(constrains), restart)
	if s.peer == nil {
		t.Fatalf("%s was refused", name)
	}
	return s
}

func allFamilies(constrains bool) (families [wire.Families]bool) {
	for f := range wire.Families {
		families[f] = f != wire.RTC || constrains
	}
	return families
}

// vplsText is an NLRI in gobgp's words: "65000:1:2:1 (Block Size: 64, Label Block Base: 100)".
func vplsText(site, ve, size, base int) string {
	return vplsNLRI(fmt.Sprintf("65000:%d %d %d %d", site+1, ve, size, base)).String()
}

func vplsNLRI(text string) *bgp.VPLSNLRI {
	var rd string
	var ve, size uint16
	var base uint32
	if _, err := fmt.Sscanf(text, "%s %d %d %d", &rd, &ve, &size, &base); err != nil {
		panic(err)
	}
	parsed, err := bgp.ParseRouteDistinguisher(rd)
	if err != nil {
		panic(err)
	}
	return bgp.NewVPLSNLRI(parsed, ve, 1, size, base)
}

// fromText reads what vplsText wrote.
func fromText(text string) *bgp.VPLSNLRI {
	head, tail, _ := strings.Cut(text, " (")
	parts := strings.Split(head, ":")
	var size, base int
	if _, err := fmt.Sscanf(tail, "Block Size: %d, Label Block Base: %d)", &size, &base); err != nil {
		panic(err)
	}
	return vplsNLRI(fmt.Sprintf("%s:%s %s %d %d", parts[0], parts[1], parts[2], size, base))
}

// route is the part of an NLRI that says which route it is.
func route(text string) string {
	if _, other := offers.Load(text); other {
		return text
	}
	return strings.SplitN(text, " ", 2)[0]
}

func (s *speaker) update(nlri string, rts []string) []byte {
	o := offered(nlri)
	reach, err := bgp.NewPathAttributeMpReachNLRI(bgp.NewFamily(o.family.AFI(), o.family.SAFI()), []bgp.PathNLRI{{NLRI: o.nlri}}, netip.MustParseAddr("192.0.2.1"))
	if err != nil {
		s.t.Fatal(err)
	}
	attributes := []bgp.PathAttributeInterface{
		bgp.NewPathAttributeOrigin(0), bgp.NewPathAttributeAsPath(nil), bgp.NewPathAttributeLocalPref(100), reach,
	}
	communities := []bgp.ExtendedCommunityInterface{bgp.NewVPLSExtended(0, 1450)}
	for _, rt := range rts {
		c, err := bgp.ParseRouteTarget(rt)
		if err != nil {
			s.t.Fatal(err)
		}
		communities = append(communities, c)
	}
	attributes = append(attributes, bgp.NewPathAttributeExtendedCommunities(communities))
	message, err := bgp.NewBGPUpdateMessage(nil, attributes, nil).Serialize()
	if err != nil {
		s.t.Fatal(err)
	}
	return message
}

func (s *speaker) send(message []byte) {
	s.t.Helper()
	u, err := wire.ParseUpdate(message[wire.HeaderLength:], 65000)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.engine.Update(s.peer, u); err != nil {
		s.t.Fatal(err)
	}
}

func (s *speaker) announce(nlri string, rts []string) { s.send(s.update(nlri, rts)) }

// malformed sends an announcement whose ORIGIN has the value 9.
func (s *speaker) malformed(nlri string, rts []string) {
	message := s.update(nlri, rts)
	at := strings.Index(string(message), "\x40\x01\x01\x00")
	message[at+3] = 9
	s.send(message)
}

func (s *speaker) withdraw(nlri string) {
	o := offered(nlri)
	unreach, err := bgp.NewPathAttributeMpUnreachNLRI(bgp.NewFamily(o.family.AFI(), o.family.SAFI()), []bgp.PathNLRI{{NLRI: o.nlri}})
	if err != nil {
		s.t.Fatal(err)
	}
	message, err := bgp.NewBGPUpdateMessage(nil, []bgp.PathAttributeInterface{unreach}, nil).Serialize()
	if err != nil {
		s.t.Fatal(err)
	}
	s.send(message)
}

// drain hears everything that is in the queue.
func (s *speaker) drain() {
	for {
		taken, more := s.peer.Queue.Take(false)
		if !more {
			return
		}
		var stream []byte
		for _, b := range taken.Buffers {
			stream = append(stream, b...)
		}
		s.hear(stream)
		s.peer.Queue.Written(taken)
	}
}

// writeFor drains while the engine waits for it.
func (s *speaker) writeFor(done <-chan struct{}) {
	for {
		select {
		case <-s.peer.Queue.Wake():
			s.drain()
		case <-done:
			return
		}
	}
}

func (s *speaker) hear(stream []byte) {
	for len(stream) > 0 {
		m, err := bgp.ParseBGPMessage(stream)
		if err != nil {
			s.t.Errorf("%s was sent what gobgp cannot read: %v", s.name, err)
			return
		}
		stream = stream[m.Header.Len:]
		u, ok := m.Body.(*bgp.BGPUpdate)
		if !ok {
			continue
		}
		var rts []string
		for _, a := range u.PathAttributes {
			if c, ok := a.(*bgp.PathAttributeExtendedCommunities); ok {
				for _, c := range c.Value {
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
				if a.AFI == bgp.AFI_IP && a.SAFI == bgp.SAFI_ROUTE_TARGET_CONSTRAINTS {
					continue // the route server asks for everything
				}
				for _, n := range a.Value {
					s.rib[n.NLRI.String()] = strings.Join(rts, " ")
				}
			case *bgp.PathAttributeMpUnreachNLRI:
				for _, n := range a.Value {
					delete(s.rib, n.NLRI.String())
				}
			}
		}
	}
}
