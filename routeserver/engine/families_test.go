package engine

import (
	"fmt"
	"net/netip"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/rib"
	"weft/routeserver/ruleset"
	"weft/routeserver/wire"
)

// The families of the second model, and what its PEs ask for by RT-Constrain.

// offer is a route that PEs of the model announce.
type offer struct {
	family wire.Family
	nlri   bgp.NLRI
	rd     string // empty: the family has none
}

var offers sync.Map // by the NLRI's text

// offered finds a route by its text.
func offered(text string) offer {
	if o, found := offers.Load(text); found {
		return o.(offer)
	}
	n := fromText(text)
	return offer{wire.VPLS, n, n.RD().String()}
}

var mainFamilies = []wire.Family{wire.VPLS, wire.EVPN, wire.VPNv4, wire.VPNv6}

func familyOf(site int) wire.Family { return mainFamilies[site%len(mainFamilies)] }

// anyRoute is a route with the route distinguisher of a site: mostly of the family of another site (which is the same one),
// else a traffic filter, or of a family that is not the site's. n tells routes apart.
func (w *world) anyRoute(site, distinguisher int, announcer string) string {
	f, n := familyOf(site), 1+w.r.IntN(3)
	switch w.r.IntN(12) {
	case 0:
		f = mainFamilies[w.r.IntN(len(mainFamilies))]
	case 1, 2, 3:
		f = wire.Flow4 + wire.Family(w.r.IntN(4))
	}
	if f == wire.VPLS {
		return vplsText(distinguisher, n, 64, 100*(1+w.r.IntN(2)))
	}
	rd := fmt.Sprintf("65000:%d", distinguisher+1)
	o := offer{family: f, rd: rd}
	if f == wire.Flow4 || f == wire.Flow6 {
		o.rd = ""
		n += 10 * int(announcer[len(announcer)-1]-'0') // without an RD, two PEs' filters would be the same route
	}
	o.nlri = w.routeOf(f, rd, n)
	offers.Store(o.nlri.String(), o)
	return o.nlri.String()
}

func (w *world) routeOf(f wire.Family, rd string, n int) bgp.NLRI {
	distinguisher, err := bgp.ParseRouteDistinguisher(rd)
	check := func(err error) {
		if err != nil {
			w.t.Fatal(err)
		}
	}
	check(err)
	text := fmt.Sprintf("10.%d.0.0/20", n)
	if f == wire.VPNv6 || f == wire.Flow6 || f == wire.FlowVPN6 {
		text = fmt.Sprintf("2001:db8:%d::/52", n)
	}
	prefix := netip.MustParsePrefix(text)
	family := bgp.NewFamily(f.AFI(), f.SAFI())
	var nlri bgp.NLRI
	switch f {
	case wire.EVPN:
		esi := bgp.EthernetSegmentIdentifier{Type: bgp.ESI_ARBITRARY, Value: make([]byte, 9)}
		nlri, err = bgp.NewEVPNMacIPAdvertisementRoute(distinguisher, esi, 0, fmt.Sprintf("02:00:00:00:00:%02x", n), netip.Addr{}, []uint32{7})
	case wire.VPNv4, wire.VPNv6:
		nlri, err = bgp.NewLabeledVPNIPAddrPrefix(prefix, *bgp.NewMPLSLabelStack(uint32(100 * (1 + w.r.IntN(2)))), distinguisher)
	default:
		to, prefixErr := bgp.NewIPAddrPrefix(prefix)
		check(prefixErr)
		parts := []bgp.FlowSpecComponentInterface{bgp.NewFlowSpecDestinationPrefix(to)}
		if f.AFI() == 2 {
			parts[0] = bgp.NewFlowSpecDestinationPrefix6(to, 0)
		}
		if f == wire.Flow4 || f == wire.Flow6 {
			nlri, err = bgp.NewFlowSpecUnicast(family, parts)
		} else {
			nlri, err = bgp.NewFlowSpecVPN(family, distinguisher, parts)
		}
	}
	check(err)
	return nlri
}

// wish is what a PE asks for: the route targets that begin with so many bits of an origin AS and a route target.
type wish struct {
	as   uint32
	rt   string
	bits int // 0, 32, 92 (all but the last four bits of the number), 96
}

func (x wish) covers(rt string) bool {
	switch x.bits {
	case 0, 32:
		return true
	case 96:
		return rt == x.rt
	}
	return number(rt)>>4 == number(x.rt)>>4
}

func number(rt string) int {
	_, text, _ := strings.Cut(rt, ":")
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func (x wish) nlri() []byte {
	n := number(x.rt)
	all := []byte{byte(x.bits), byte(x.as >> 24), byte(x.as >> 16), byte(x.as >> 8), byte(x.as),
		0, 2, 0xfd, 0xe8, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
	return all[:1+(x.bits+7)/8]
}

// wants says whether a PE gets routes with a route target, by what it asked for.
func (s *speaker) wants(rt string) bool {
	if !s.constrains {
		return true
	}
	for x := range s.wishes {
		if s.settled && x.covers(rt) {
			return true
		}
	}
	return false
}

func (s *speaker) sendWish(x wish, withdraw bool) {
	nlri, err := bgp.NLRIFromSlice(bgp.RF_RTC_UC, x.nlri())
	if err != nil {
		s.t.Fatal(err)
	}
	path := []bgp.PathNLRI{{NLRI: nlri}}
	var attributes []bgp.PathAttributeInterface
	if withdraw {
		unreach, err := bgp.NewPathAttributeMpUnreachNLRI(bgp.RF_RTC_UC, path)
		if err != nil {
			s.t.Fatal(err)
		}
		attributes = append(attributes, unreach)
	} else {
		reach, err := bgp.NewPathAttributeMpReachNLRI(bgp.RF_RTC_UC, path, netip.MustParseAddr("192.0.2.1"))
		if err != nil {
			s.t.Fatal(err)
		}
		attributes = append(attributes, bgp.NewPathAttributeOrigin(0), bgp.NewPathAttributeAsPath(nil), bgp.NewPathAttributeLocalPref(100), reach)
	}
	message, err := bgp.NewBGPUpdateMessage(nil, attributes, nil).Serialize()
	if err != nil {
		s.t.Fatal(err)
	}
	if !withdraw && s.spoil {
		message[strings.Index(string(message), "\x40\x01\x01\x00")+3] = 9
	}
	s.send(message)
}

func (s *speaker) sortedWishes() []wish {
	var list []wish
	for x := range s.wishes {
		list = append(list, x)
	}
	sort.Slice(list, func(i, j int) bool { return fmt.Sprint(list[i]) < fmt.Sprint(list[j]) })
	return list
}

// constrain makes a PE that speaks RT-Constrain say something about what it wants.
func (w *world) constrain() string {
	s := w.anySpeaker()
	for tries := 0; s != nil && !s.constrains && tries < 5; tries++ {
		s = w.anySpeaker()
	}
	if s == nil || !s.constrains {
		return "nothing"
	}
	x := wish{65000 + uint32(w.r.IntN(2)), fmt.Sprintf("65000:%d", w.r.IntN(worldSites)+1+100*w.r.IntN(2)), 96}
	switch w.r.IntN(8) {
	case 0:
		x.bits = 92
		x.rt = fmt.Sprintf("65000:%d", number(x.rt)&^15)
	case 1:
		x = wish{x.as, "0:0", 32}
	case 2:
		x = wish{0, "0:0", 0}
	}
	list := s.sortedWishes()
	switch n := w.r.IntN(10); {
	case n < 3:
		s.settled = true
		s.send(wire.EndOfRIB(wire.RTC))
		return s.name + " has said which routes it wants"
	case n < 5 && len(list) > 0:
		x = list[w.r.IntN(len(list))]
		delete(s.wishes, x)
		s.sendWish(x, true)
		return fmt.Sprintf("%s does not want %v any more", s.name, x)
	case n == 5: // an UPDATE that is to be treated as a withdrawal
		if len(list) > 0 {
			x = list[0]
		}
		delete(s.wishes, x)
		s.spoil = true
		s.sendWish(x, false)
		s.spoil = false
		return fmt.Sprintf("%s sends a malformed UPDATE for %v", s.name, x)
	case n == 6 || n == 7:
		w.engine.Refresh(s.peer, wire.RTC, wire.RefreshBegin, true)
		for _, x := range list {
			if w.r.IntN(2) == 0 {
				s.sendWish(x, false)
			} else {
				delete(s.wishes, x)
			}
		}
		w.engine.Refresh(s.peer, wire.RTC, wire.RefreshEnd, true)
		return s.name + " says again what it wants"
	}
	s.wishes[x] = true
	s.sendWish(x, false)
	return fmt.Sprintf("%s wants %v", s.name, x)
}

// TestWhatCannotBeRewrittenIsQuarantined: route targets elsewhere in a route would be seen by everybody in the pool.
func TestWhatCannotBeRewrittenIsQuarantined(t *testing.T) {
	set, err := ruleset.Build(&ruleset.Document{
		Peers:     []ruleset.Peer{{Name: "pe0", Address: "10.0.0.1", ASN: 65000}},
		Endpoints: []ruleset.Endpoint{{Name: "site0", Peer: "pe0", Family: "vpnv4", RT: "65000:1", RD: "65000:1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const own, six = "\x00\x02\xfd\xe8\x00\x00\x00\x01", "\xc0\x19\x14\x00\x02\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"
	for _, c := range []struct {
		family     wire.Family
		attributes wire.Attributes
		reason     rib.Reason
	}{
		{wire.VPNv4, wire.Attributes{RTs: own}, ""},
		{wire.FlowVPN4, wire.Attributes{RTs: own}, ""},
		{wire.VPNv6, wire.Attributes{RTs: own}, rib.Family},
		{wire.VPNv4, wire.Attributes{RTs: own, Path: six}, rib.Ambiguous},
		{wire.FlowVPN4, wire.Attributes{RTs: own, Communities: "\x80\x08\xfd\xe8\x00\x00\x00\x07"}, rib.Redirect},
	} {
		if endpoint, reason := Judge(set, "pe0", c.family, &c.attributes); reason != c.reason || (endpoint == "") != (reason != "") {
			t.Errorf("%s %+v: %q, %q", c.family, c.attributes, endpoint, reason)
		}
	}
}
