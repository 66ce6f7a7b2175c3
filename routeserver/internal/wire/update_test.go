package wire

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

// sample returns an UPDATE with one VPLS route or, if evpn, one EVPN route, encoded by gobgp.
func sample(t testing.TB, evpn bool, more ...bgp.PathAttributeInterface) []byte {
	t.Helper()
	rd := bgp.NewRouteDistinguisherTwoOctetAS(65000, 7)
	family, n := bgp.RF_VPLS, bgp.NLRI(bgp.NewVPLSNLRI(rd, 3, 1, 64, 4097))
	if evpn {
		esi := bgp.EthernetSegmentIdentifier{Type: bgp.ESI_ARBITRARY, Value: make([]byte, 9)}
		mac, err := bgp.NewEVPNMacIPAdvertisementRoute(rd, esi, 0, "02:00:00:00:00:01", netip.MustParseAddr("10.1.0.2"), []uint32{100})
		if err != nil {
			t.Fatal(err)
		}
		family, n = bgp.RF_EVPN, mac
	}
	reach, err := bgp.NewPathAttributeMpReachNLRI(family, []bgp.PathNLRI{{NLRI: n}}, netip.MustParseAddr("192.0.2.1"))
	if err != nil {
		t.Fatal(err)
	}
	attributes := append([]bgp.PathAttributeInterface{
		bgp.NewPathAttributeOrigin(0), bgp.NewPathAttributeAsPath(nil), bgp.NewPathAttributeLocalPref(100), reach,
		bgp.NewPathAttributeExtendedCommunities([]bgp.ExtendedCommunityInterface{
			bgp.NewTwoOctetAsSpecificExtended(bgp.EC_SUBTYPE_ROUTE_TARGET, 65000, 7, true), bgp.NewEncapExtended(bgp.TUNNEL_TYPE_VXLAN),
		}),
	}, more...)
	m, err := bgp.NewBGPUpdateMessage(nil, attributes, nil).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return m[HeaderLength:]
}

func TestUpdateIsReadAsGobgpWroteIt(t *testing.T) {
	for _, evpn := range []bool{false, true} {
		u, err := ParseUpdate(sample(t, evpn), 65000)
		if err != nil {
			t.Fatal(err)
		}
		a := u.Attributes
		if u.Malformed != "" || len(u.Reach) != 1 || a.Hop() != "192.0.2.1" || len(a.Communities) != 8 {
			t.Errorf("read as %+v, %+v", u, a)
		}
		if rts := RTs(a.RTs); len(rts) != 1 || rts[0].String() != "65000:7" {
			t.Errorf("route targets %v", rts)
		}
		if rd := RD([]byte(u.ReachFamily.RD(u.Reach[0]))); rd.String() != "65000:7" {
			t.Errorf("RD %s", rd)
		}
	}
}

// edit overwrites the bytes at an offset from the first occurrence of a pattern.
func edit(t *testing.T, body []byte, pattern string, offset int, with ...byte) []byte {
	t.Helper()
	at := strings.Index(string(body), pattern)
	if at < 0 {
		t.Fatalf("%x is not in the message", pattern)
	}
	copy(body[at+offset:], with)
	return body
}

// with returns sample with a raw attribute added at the end.
func with(t *testing.T, flags, kind byte, value ...byte) []byte {
	t.Helper()
	body := sample(t, false)
	body = appendAttribute(body, flags, kind, value)
	total := len(body) - 4
	body[2], body[3] = byte(total>>8), byte(total)
	return body
}

func without(t testing.TB, kind byte) []byte {
	t.Helper()
	body := sample(t, false)
	kept := append([]byte(nil), body[:4]...)
	EachAttribute(string(body[4:]), func(_, k uint8, _, whole string) {
		if k != kind {
			kept = append(kept, whole...)
		}
	})
	total := len(kept) - 4
	kept[2], kept[3] = byte(total>>8), byte(total)
	return kept
}

func TestTreatAsWithdraw(t *testing.T) {
	const origin, localPref, reach, ext = "\x40\x01\x01\x00", "\x40\x05\x04", "\x80\x0e", "\xc0\x10\x10"
	for name, body := range map[string][]byte{
		"ORIGIN of 7":                 edit(t, sample(t, false), origin, 3, 7),
		"ORIGIN optional":             edit(t, sample(t, false), origin, 0, 0x80),
		"no ORIGIN":                   without(t, attrOrigin),
		"no AS_PATH":                  without(t, attrASPath),
		"no LOCAL_PREF":               without(t, attrLocalPref),
		"last attribute overruns":     edit(t, sample(t, false), ext, 2, 0x40),
		"extended communities of 15":  edit(t, sample(t, false), ext, 2, 15),
		"AS_PATH segment of type 9":   edit(t, without(t, attrASPath), origin, 0, 0x40, attrASPath, 1, 9),
		"MED of 3 bytes":              with(t, 0x80, attrMED, 1, 2, 3),
		"COMMUNITIES of 3 bytes":      with(t, 0xc0, attrCommunities, 1, 2, 3),
		"ORIGINATOR_ID of 5 bytes":    with(t, 0x80, attrOriginator, 1, 2, 3, 4, 5),
		"empty CLUSTER_LIST":          with(t, 0x80, attrClusterList),
		"LARGE_COMMUNITY of 11 bytes": with(t, 0xc0, attrLargeCommunity, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
		"PMSI_TUNNEL of 2 bytes":      with(t, 0xc0, attrPMSI, 0, 6),
		"MP_REACH_NLRI transitive":    edit(t, sample(t, false), reach, 0, 0xc0),
	} {
		t.Run(name, func(t *testing.T) {
			u, err := ParseUpdate(body, 65000)
			if err != nil {
				t.Fatalf("the session would end: %v", err)
			}
			if u.Malformed == "" || len(u.Reach) != 1 {
				t.Errorf("read as %+v", u)
			}
		})
	}
}

func TestAttributeDiscard(t *testing.T) {
	for name, body := range map[string][]byte{
		"ATOMIC_AGGREGATE of 1 byte": with(t, 0x40, attrAtomicAggregate, 1),
		"AGGREGATOR of 6 bytes":      with(t, 0xc0, attrAggregator, 1, 2, 3, 4, 5, 6),
		"AS4_PATH":                   with(t, 0xc0, attrAS4Path, 2, 1, 0, 0, 0, 1),
		"ORIGIN again":               with(t, 0x40, attrOrigin, 2),
	} {
		t.Run(name, func(t *testing.T) {
			u, err := ParseUpdate(body, 65000)
			if err != nil || u.Malformed != "" || len(u.Discarded) != 1 || len(u.Reach) != 1 {
				t.Errorf("read as %+v, %v", u, err)
			}
			if len(u.Attributes.Path) != len(mustParse(t, sample(t, false)).Attributes.Path) {
				t.Error("it was carried on")
			}
		})
	}
}

func mustParse(t *testing.T, body []byte) *Update {
	t.Helper()
	u, err := ParseUpdate(body, 65000)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestErrorsThatEndTheSession(t *testing.T) {
	truncated := sample(t, false)
	for name, c := range map[string]struct {
		body    []byte
		subcode uint8
	}{
		"withdrawn routes overrun": {[]byte{0, 9, 0, 0}, MalformedList},
		"attributes overrun":       {truncated[:len(truncated)-1], MalformedList},
		"unknown well-known":       {with(t, 0x40, 99, 1), UnknownWellKnown},
		"NLRI overruns":            {edit(t, sample(t, false), "\x00\x11\x00\x00", 0, 0, 200), InvalidNetwork},
		"MP_REACH_NLRI twice":      {with(t, 0x80, attrReach, 0, 25, 65, 0, 0), MalformedList},
		"nothing to withdraw":      {append([]byte{0, 0, 0, 4}, 0x40, 1, 1, 9), MalformedList},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseUpdate(c.body, 65000)
			var n *Notification
			if !errors.As(err, &n) || n.Code != UpdateError || n.Subcode != c.subcode {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestUnknownAttributes(t *testing.T) {
	u := mustParse(t, with(t, 0xc0, 99, 5))
	if !strings.HasSuffix(u.Attributes.Path, "\xe0\x63\x01\x05") {
		t.Errorf("the transitive one is not passed on as partial: %x", u.Attributes.Path)
	}
	u = mustParse(t, with(t, 0x80, 99, 5))
	if strings.Contains(u.Attributes.Path, "\x63\x01\x05") {
		t.Errorf("the non-transitive one is passed on: %x", u.Attributes.Path)
	}
}

func TestVPLSForms(t *testing.T) {
	autoDiscovery := append([]byte{0, 12}, make([]byte, 12)...)
	long := append([]byte{0, 20}, make([]byte, 20)...)
	for name, c := range map[string]struct {
		extra     []byte
		malformed bool
		ignored   int
	}{"BGP-AD": {autoDiscovery, false, 1}, "20 bytes": {long, true, 0}} {
		t.Run(name, func(t *testing.T) {
			body := without(t, attrReach)
			good := []byte(mustParse(t, sample(t, false)).Reach[0])
			value := append([]byte{0, 25, 65, 4, 192, 0, 2, 1, 0}, append(good, c.extra...)...)
			body = appendAttribute(body, 0x80, attrReach, value)
			total := len(body) - 4
			body[2], body[3] = byte(total>>8), byte(total)
			u := mustParse(t, body)
			if (u.Malformed != "") != c.malformed || u.Ignored != c.ignored || len(u.Reach) != 1 {
				t.Errorf("read as %+v", u)
			}
		})
	}
}

func TestEndOfRIBAndLoops(t *testing.T) {
	u := mustParse(t, EndOfRIB(EVPN)[HeaderLength:])
	if !u.EndOfRIB || u.UnreachFamily != EVPN {
		t.Errorf("read as %+v", u)
	}
	path := bgp.NewPathAttributeAsPath([]bgp.AsPathParamInterface{bgp.NewAs4PathParam(2, []uint32{65010, 65000})})
	body := without(t, attrASPath)
	data, err := path.Serialize()
	if err != nil {
		t.Fatal(err)
	}
	body = append(body, data...)
	body[2], body[3] = byte((len(body)-4)>>8), byte(len(body)-4)
	if !mustParse(t, body).Attributes.Loop {
		t.Error("our own AS number in AS_PATH was not seen")
	}
}
