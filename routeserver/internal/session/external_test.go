package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/lookingglass"
	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/session"
)

// abroad returns a region whose pool has an internal PE a, and external ones b and c of AS 65001 and 4200000001.
func abroad(t *testing.T) *region {
	t.Helper()
	r := start(t, session.Config{})
	r.change(t,
		ruleset.Operation{Op: ruleset.SetPeer, Peer: &ruleset.Peer{Name: "b", Address: "127.0.78.12", ASN: 65001}},
		ruleset.Operation{Op: ruleset.SetPeer, Peer: &ruleset.Peer{Name: "c", Address: "127.0.78.13", ASN: 4200000001}},
		ruleset.Operation{Op: ruleset.Join, Pool: "pool", Member: "lan-c"})
	return r
}

func (r *region) dialFrom(t *testing.T, host string, asn uint32) *petest.PE {
	t.Helper()
	return petest.Dial(t, petest.Options{Local: "127.0.78." + host, Remote: r.remote, ASN: asn})
}

// along returns an announcement with a path; more attributes replace those of their type.
func along(t *testing.T, n bgp.NLRI, rt string, path []uint32, more ...bgp.PathAttributeInterface) *bgp.BGPMessage {
	t.Helper()
	m := petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{n}, []string{rt})
	u := m.Body.(*bgp.BGPUpdate)
	for i, a := range u.PathAttributes {
		if a.GetType() == bgp.BGP_ATTR_TYPE_AS_PATH && len(path) > 0 {
			u.PathAttributes[i] = bgp.NewPathAttributeAsPath([]bgp.AsPathParamInterface{bgp.NewAs4PathParam(bgp.BGP_ASPATH_ATTR_TYPE_SEQ, path)})
		}
	}
	u.PathAttributes = append(u.PathAttributes, more...)
	return m
}

// heard returns a short form of the last UPDATE with which a PE was sent a route.
func heard(p *petest.PE, n bgp.NLRI) string {
	text := "nothing"
	for _, u := range p.Updates() {
		this, words := false, []string{}
		for _, a := range u.PathAttributes {
			switch a := a.(type) {
			case *bgp.PathAttributeMpReachNLRI:
				this = len(a.Value) > 0 && a.Value[0].NLRI.String() == n.String()
				words = append(words, "via "+a.Nexthop.String())
			case *bgp.PathAttributeAsPath:
				words = append(words, "path ["+bgp.AsPathString(a)+"]")
			case *bgp.PathAttributeAs4Path:
				words = append(words, "path4 ["+a.String()+"]")
			case *bgp.PathAttributeLocalPref:
				words = append(words, fmt.Sprint("pref ", a.Value))
			case *bgp.PathAttributeMultiExitDisc:
				words = append(words, fmt.Sprint("med ", a.Value))
			case *bgp.PathAttributeOriginatorId:
				words = append(words, "originator "+a.Value.String())
			case *bgp.PathAttributeClusterList:
				words = append(words, "clusters")
			}
		}
		if this {
			text = strings.Join(words, ", ")
		}
	}
	return text
}

func TestAPoolWithInternalAndExternalMembers(t *testing.T) {
	r := abroad(t)
	a, b, c := r.dial(t, "11"), r.dialFrom(t, "12", 65001), r.dialFrom(t, "13", 4200000001)
	na, nb := petest.VPLS(t, "65000:1", 1, 1, 64, 4097), petest.VPLS(t, "65000:2", 2, 1, 64, 8193)
	a.Send(along(t, na, "65000:1", nil, bgp.NewPathAttributeMultiExitDisc(7)))
	b.Send(along(t, nb, "65000:2", []uint32{65001, 64999}, bgp.NewPathAttributeMultiExitDisc(8))) // LOCAL_PREF is ignored
	a.Has(map[string]string{nb.String(): "65000:1"})
	b.Has(map[string]string{na.String(): "65000:2"})
	c.Has(map[string]string{na.String(): "65000:3", nb.String(): "65000:3"})
	for _, x := range []struct {
		pe   *petest.PE
		nlri bgp.NLRI
		want string
	}{
		{a, nb, "via 192.0.2.9, path [65001 64999], med 8, pref 100"},
		{b, na, "via 192.0.2.9, path [65000], med 7"},
		{c, na, "via 192.0.2.9, path [65000], med 7"},
		{c, nb, "via 192.0.2.9, path [65000 65001 64999]"},
	} {
		if got := heard(x.pe, x.nlri); got != x.want {
			t.Errorf("heard %q, not %q", got, x.want)
		}
	}
	views, _ := r.Select(engine.Filter{Table: engine.AdjOut, Peer: "c", AnyFamily: true, AnyRT: true})
	for _, v := range views {
		if shown := fmt.Sprint(lookingglass.Describe(v).Attributes); strings.Contains(shown, "local_pref") || strings.Contains(shown, "originator") {
			t.Errorf("the looking glass shows as sent to c: %s", shown)
		}
	}
	// The route goes in two ways: by a path that does not begin with the peer's AS, and by a leave.
	b.Send(along(t, nb, "65000:2", []uint32{64999, 65001}))
	a.Has(map[string]string{})
	c.Has(map[string]string{na.String(): "65000:3"})
	r.change(t, ruleset.Operation{Op: ruleset.Leave, Pool: "pool", Member: "lan-a"})
	for _, p := range []*petest.PE{b, c} {
		p.Has(map[string]string{})
	}
}

// TestALoopIsQuarantined lets an external PE send back a route, with the route target that it was sent.
func TestALoopIsQuarantined(t *testing.T) {
	r := abroad(t)
	a, b, c := r.dial(t, "11"), r.dialFrom(t, "12", 65001), r.dialFrom(t, "13", 4200000001)
	na, nb := petest.VPLS(t, "65000:1", 1, 1, 64, 4097), petest.VPLS(t, "65000:2", 2, 1, 64, 8193)
	a.Send(along(t, na, "65000:1", nil))
	b.Has(map[string]string{na.String(): "65000:2"})
	b.Send(along(t, na, "65000:2", []uint32{65001, 65000}))
	b.Send(along(t, nb, "65000:2", []uint32{65001}))
	a.Has(map[string]string{nb.String(): "65000:1"})
	c.Has(map[string]string{na.String(): "65000:3", nb.String(): "65000:3"})
	if got := heard(c, na); got != "via 192.0.2.9, path [65000]" {
		t.Errorf("c heard %q", got)
	}
	views, _ := r.Select(engine.Filter{Table: engine.Quarantine, AnyFamily: true, AnyRT: true})
	if len(views) != 1 || views[0].Reason != rib.Loop || views[0].Peer != "b" {
		t.Fatalf("in quarantine: %+v", views)
	}
	x, err := lookingglass.Explain(r.Engine, "lan-b", "lan-a", na.String())
	if err != nil || x.Verdict != "quarantined" || !strings.Contains(x.Text, "in quarantine (loop): it was here before") {
		t.Errorf("explained as %+v, %v", x, err)
	}
	if n := r.Counters().Loops; n != 1 {
		t.Errorf("%d loops", n)
	}
	// An accepted route goes when it loops, and comes back.
	b.Send(along(t, nb, "65000:2", []uint32{65001, 65000}))
	a.Has(map[string]string{})
	b.Send(along(t, nb, "65000:2", []uint32{65001}))
	a.Has(map[string]string{nb.String(): "65000:1"})
}

func TestCommunitiesKeepRoutesWithinTheAS(t *testing.T) {
	r := abroad(t)
	r.change(t, ruleset.Operation{Op: ruleset.SetPeer, Peer: &ruleset.Peer{Name: "d", Address: "127.0.78.14", ASN: 65000}},
		ruleset.Operation{Op: ruleset.SetEndpoint, Endpoint: &ruleset.Endpoint{Name: "lan-d", Peer: "d", Family: "l2vpn-vpls", RT: "65000:4", RD: "65000:4"}},
		ruleset.Operation{Op: ruleset.Join, Pool: "pool", Member: "lan-d"})
	a, b, d := r.dial(t, "11"), r.dialFrom(t, "12", 65001), r.dial(t, "14")
	n := petest.VPLS(t, "65000:1", 1, 1, 64, 4097)
	a.Send(along(t, n, "65000:1", nil))
	b.Has(map[string]string{n.String(): "65000:2"})
	a.Send(along(t, n, "65000:1", nil, bgp.NewPathAttributeCommunities([]uint32{uint32(bgp.COMMUNITY_NO_EXPORT)})))
	b.Has(map[string]string{})
	d.Has(map[string]string{n.String(): "65000:4"})
	x, err := lookingglass.Explain(r.Engine, "lan-a", "lan-b", "")
	if err != nil || x.Verdict != "not-sent" || x.Text != "its community NO_EXPORT keeps it from b" {
		t.Errorf("explained as %+v, %v", x, err)
	}
	for _, peer := range []string{"a", "b", "d"} {
		if diff := lookingglass.DiffPeer(r.Snapshot(peer), peer); len(diff.Differences) > 0 {
			t.Errorf("the looking glass finds %+v", diff.Differences)
		}
	}
	a.Send(along(t, n, "65000:1", nil, bgp.NewPathAttributeCommunities([]uint32{uint32(bgp.COMMUNITY_NO_ADVERTISE)})))
	d.Has(map[string]string{})
}

// TestTwoExternalPEsOfOneAS checks that the explanation says that the second PE may ignore the first one's routes.
func TestTwoExternalPEsOfOneAS(t *testing.T) {
	r := abroad(t)
	r.change(t, ruleset.Operation{Op: ruleset.SetPeer, Peer: &ruleset.Peer{Name: "c", Address: "127.0.78.13", ASN: 65001}})
	b, c := r.dialFrom(t, "12", 65001), r.dialFrom(t, "13", 65001)
	n := petest.VPLS(t, "65000:2", 2, 1, 64, 8193)
	b.Send(along(t, n, "65000:2", []uint32{65001}))
	c.Has(map[string]string{n.String(): "65000:3"})
	x, err := lookingglass.Explain(r.Engine, "lan-b", "lan-c", "")
	if err != nil || x.Verdict != "sent" || !strings.HasSuffix(x.Text, "its own AS number 65001 is in AS_PATH, and it ignores the route unless told otherwise") {
		t.Errorf("explained as %+v, %v", x, err)
	}
}

// TestAPEWithoutFourOctetASNumbers checks a pool in which b lacks these, and c's AS number needs them (RFC 6793).
func TestAPEWithoutFourOctetASNumbers(t *testing.T) {
	r := abroad(t)
	b := petest.Dial(t, petest.Options{Local: "127.0.78.12", Remote: r.remote, ASN: 65001, TwoOctet: true})
	a, c := r.dial(t, "11"), r.dialFrom(t, "13", 4200000001)
	na, nb, nc := petest.VPLS(t, "65000:1", 1, 1, 64, 4097), petest.VPLS(t, "65000:2", 2, 1, 64, 8193), petest.VPLS(t, "65000:3", 3, 1, 64, 12289)
	a.Send(along(t, na, "65000:1", nil))
	narrow := along(t, nb, "65000:2", nil, bgp.NewPathAttributeAs4Path([]*bgp.As4PathParam{bgp.NewAs4PathParam(bgp.BGP_ASPATH_ATTR_TYPE_SEQ, []uint32{4200000009})}))
	for i, attribute := range narrow.Body.(*bgp.BGPUpdate).PathAttributes {
		if attribute.GetType() == bgp.BGP_ATTR_TYPE_AS_PATH {
			narrow.Body.(*bgp.BGPUpdate).PathAttributes[i] = bgp.NewPathAttributeAsPath([]bgp.AsPathParamInterface{bgp.NewAsPathParam(bgp.BGP_ASPATH_ATTR_TYPE_SEQ, []uint16{65001, bgp.AS_TRANS})})
		}
	}
	b.Send(narrow)
	c.Send(along(t, nc, "65000:3", []uint32{4200000001}))
	a.Has(map[string]string{nb.String(): "65000:1", nc.String(): "65000:1"})
	b.Has(map[string]string{na.String(): "65000:2", nc.String(): "65000:2"})
	if got := heard(a, nb); got != "via 192.0.2.9, path [65001 4200000009], pref 100" {
		t.Errorf("a heard %q", got)
	}
	if got := heard(b, na); got != "via 192.0.2.9, path [65000]" {
		t.Errorf("b heard %q", got)
	}
	if got := heard(b, nc); got != "via 192.0.2.9, path [65000 23456], path4 [65000 4200000001]" {
		t.Errorf("b heard %q", got)
	}
}

// TestAnExternalPEThatConstrainsRoutes checks that a PE's memberships count whatever origin AS they name, but not if
// they came from us.
func TestAnExternalPEThatConstrainsRoutes(t *testing.T) {
	r := abroad(t)
	a := r.dial(t, "11")
	n := petest.VPLS(t, "65000:1", 1, 1, 64, 4097)
	a.Send(along(t, n, "65000:1", nil))
	b := petest.Connect(t, petest.Options{Local: "127.0.78.12", Remote: r.remote, ASN: 65001, Families: []bgp.Family{bgp.RF_VPLS, bgp.RF_RTC_UC}})
	b.Handshake()
	b.Run()
	b.Until("the default membership", func() bool { return len(b.Locked()) > 0 })
	all := map[bgp.BGPAttrType]string{}
	for _, attribute := range b.Updates()[0].PathAttributes {
		all[attribute.GetType()] = attribute.String()
	}
	if _, pref := all[bgp.BGP_ATTR_TYPE_LOCAL_PREF]; pref || !strings.Contains(all[bgp.BGP_ATTR_TYPE_AS_PATH], "65000") {
		t.Errorf("the default membership came with %v", all)
	}
	rt, err := bgp.ParseRouteTarget("65000:2")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(origin uint32, path ...uint32) {
		m := along(t, n, "65000:2", path)
		u := m.Body.(*bgp.BGPUpdate)
		for i, attribute := range u.PathAttributes {
			if reach, ok := attribute.(*bgp.PathAttributeMpReachNLRI); ok {
				u.PathAttributes[i], err = bgp.NewPathAttributeMpReachNLRI(bgp.RF_RTC_UC, []bgp.PathNLRI{{NLRI: bgp.NewRouteTargetMembershipNLRI(origin, rt)}}, reach.Nexthop)
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		b.Send(m)
	}
	asked := bgp.NewRouteTargetMembershipNLRI(0, nil).String() // by the route server
	ask(65000, 65001, 65000)                                   // sent back to us
	end := bgp.NewEndOfRib(bgp.RF_RTC_UC)
	b.Send(end)
	b.Until("End-of-RIB", func() bool { return b.EndsLocked() > 1 })
	b.Has(map[string]string{asked: ""})
	ask(64999, 65001, 64999)
	b.Has(map[string]string{asked: "", n.String(): "65000:2"})
	ask(64999, 65001, 64999, 65000)
	b.Has(map[string]string{asked: ""})
}

// TestAnExternalPEMayHaveOurIdentifier checks that this is permitted: BGP identifiers are unique only within an AS (RFC 6286).
func TestAnExternalPEMayHaveOurIdentifier(t *testing.T) {
	r := abroad(t)
	petest.Dial(t, petest.Options{Local: "127.0.78.12", Remote: r.remote, ASN: 65001, ID: "10.0.0.200"})
}
