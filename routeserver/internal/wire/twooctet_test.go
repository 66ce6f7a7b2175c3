package wire

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

// TestTwoOctetNeighboursAreRead checks RFC 6793 sections 4.2.3 and 6.
func TestTwoOctetNeighboursAreRead(t *testing.T) {
	const wide, wider = "4200000001", "4200000002"
	aggregator := func(octets int, asn string) []byte { return append(asPath(octets, asn)[2:], 192, 0, 2, 1) }
	for name, c := range map[string]struct {
		path, path4             string
		aggregator, aggregator4 string
		raw4                    []byte
		want, wantAggregator    string
		discarded               int
	}{
		"nothing but two octets":      {path: "65001 65002", want: "65001 65002"},
		"empty":                       {},
		"AS4_PATH":                    {path: "65001 23456 65002", path4: wide + " 65002", want: "65001 " + wide + " 65002"},
		"as long as AS_PATH":          {path: "23456 65002", path4: wide + " 65002", want: wide + " 65002"},
		"longer than AS_PATH":         {path: "65001 23456", path4: "1 2 " + wide, want: "65001 23456"},
		"a set counts as one":         {path: "65001 {1 2 3} 23456", path4: "{1 2 3} " + wide, want: "65001 {1 2 3} " + wide},
		"a set is added":              {path: "65001 {1 2} 23456", path4: wide, want: "65001 {1 2} " + wide},
		"within a sequence":           {path: "1 2 3 23456", path4: "3 " + wide, want: "1 2 3 " + wide},
		"confederation at the front":  {path: "(9) 65001 23456", path4: wide, want: "(9) 65001 " + wide},
		"confederation in between":    {path: "65001 (9) 23456", path4: wide, want: "65001 (9) " + wide},
		"confederation in AS4_PATH":   {path: "65001 23456", path4: "(9) " + wide, want: "65001 " + wide, discarded: 1},
		"AS4_PATH cut off":            {path: "65001 23456", raw4: []byte{2, 1, 0, 0, 1}, want: "65001 23456", discarded: 1},
		"AS4_PATH of an unknown type": {path: "65001 23456", raw4: []byte{7, 1, 0, 0, 0, 1}, want: "65001 23456", discarded: 1},
		"AS4_PATH that is empty":      {path: "65001 23456", raw4: []byte{}, want: "65001 23456", discarded: 1},
		"AS4_PATH with AS 0":          {path: "65001 23456", path4: "0", want: "65001 23456", discarded: 1},
		"AGGREGATOR":                  {path: "65001", aggregator: "65002", want: "65001", wantAggregator: "65002"},
		"AS4_AGGREGATOR":              {path: "65001 23456", path4: wide, aggregator: "23456", aggregator4: wider, want: "65001 " + wide, wantAggregator: wider},
		"aggregated later":            {path: "65001 23456", path4: wide, aggregator: "65002", aggregator4: wider, want: "65001 23456", wantAggregator: "65002"},
		"AS4_AGGREGATOR alone":        {path: "65001 23456", path4: wide, aggregator4: wider, want: "65001 " + wide},
		"AGGREGATOR of AS 0":          {path: "65001", aggregator: "0", want: "65001", discarded: 1},
	} {
		more := [][]byte{}
		for kind, value := range map[uint8][]byte{attrASPath: asPath(2, c.path), attrAS4Path: asPath(4, c.path4)} {
			if kind == attrASPath || len(value) > 0 {
				more = append(more, attr(rules[kind].flags, kind, value...))
			}
		}
		if c.raw4 != nil {
			more = append(more, attr(0xc0, attrAS4Path, c.raw4...))
		}
		if c.aggregator != "" {
			more = append(more, attr(0xc0, attrAggregator, aggregator(2, c.aggregator)...))
		}
		if c.aggregator4 != "" {
			more = append(more, attr(0xc0, attrAS4Aggregator, aggregator(4, c.aggregator4)...))
		}
		u, err := Neighbour{ASN: 65000, Own: 65000, TwoOctet: true}.ParseUpdate(body(t, more...))
		if err != nil || u.Malformed != "" || len(u.Discarded) != c.discarded {
			t.Errorf("%s: %v, %+v", name, err, u)
			continue
		}
		if path, there := find(u.Attributes.Path, attrASPath); !there || path != string(asPath(4, c.want)) {
			t.Errorf("%s: AS_PATH %x", name, path)
		}
		want := ""
		if c.wantAggregator != "" {
			want = string(aggregator(4, c.wantAggregator))
		}
		if got, _ := find(u.Attributes.Path, attrAggregator); got != want {
			t.Errorf("%s: AGGREGATOR %x", name, got)
		}
		for _, kind := range []uint8{attrAS4Path, attrAS4Aggregator} {
			if _, there := find(u.Attributes.Path, kind); there {
				t.Errorf("%s: attribute %d is carried on", name, kind)
			}
		}
	}
}

// TestLoopsAndFirstASOfTwoOctetNeighbours checks that both use the composed path.
func TestLoopsAndFirstASOfTwoOctetNeighbours(t *testing.T) {
	from := Neighbour{ASN: 65001, Own: 4200000000, TwoOctet: true}
	path := attr(flagTransitive, attrASPath, asPath(2, "65001 23456")...)
	u, err := from.ParseUpdate(body(t, path, attr(0xc0, attrAS4Path, asPath(4, "4200000000")...)))
	if err != nil || u.Malformed != "" || !u.Attributes.Loop {
		t.Errorf("%v, %+v, %+v", err, u, u.Attributes)
	}
	u, err = from.ParseUpdate(body(t, path))
	if err != nil || u.Malformed != "" || u.Attributes.Loop {
		t.Errorf("%v, %+v, %+v", err, u, u.Attributes)
	}
	u, err = from.ParseUpdate(body(t, attr(flagTransitive, attrASPath, asPath(2, "23456 65001")...)))
	if err != nil || u.Malformed == "" {
		t.Errorf("a wrong first AS was accepted: %v, %+v", err, u)
	}
	four := body(t, attr(flagTransitive, attrASPath, asPath(4, "65001")...))
	if u, err = from.ParseUpdate(four); err != nil || u.Malformed == "" {
		t.Errorf("four octets were accepted: %v, %+v", err, u)
	}
}

// TestTwoOctetNeighboursAreSent checks RFC 6793 section 4.2.2 with gobgp as the reader.
func TestTwoOctetNeighboursAreSent(t *testing.T) {
	for _, c := range []struct {
		path, aggregator string
		want, want4      string
	}{
		{"65001 65002", "65003", "65001 65002", ""},
		{"65001 4200000001 {65002 4200000002}", "4200000003", "65001 23456 {65002 23456}", "65001 4200000001 {65002 4200000002}"},
		{"(65009) 4200000001", "65003", "(65009) 23456", "4200000001"},
		{"(4200000001)", "65003", "(23456)", ""},
	} {
		as := asPath(4, c.aggregator)[2:]
		u := mustParse(t, foreign(t, c.path, attr(0xc0, attrAggregator, append(as, 192, 0, 2, 1)...)))
		all, ends, _ := u.Attributes.AppendAnnouncements(nil, u.ReachFamily, u.Reach, reflection, Kind{TwoOctet: true}, 1, MaxLength)
		m := finished(all, ends, "\x00\x02\xfd\xe8\x00\x00\x00\x01")[0]
		read, err := bgp.ParseBGPMessage(m, &bgp.MarshallingOption{Use2ByteAS: true})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[bgp.BGPAttrType]bgp.PathAttributeInterface{}
		for _, a := range read.Body.(*bgp.BGPUpdate).PathAttributes {
			seen[a.GetType()] = a
		}
		value := func(kind bgp.BGPAttrType) string {
			if seen[kind] == nil {
				return ""
			}
			data, err := seen[kind].Serialize()
			if err != nil {
				t.Fatal(err)
			}
			return string(data[3:])
		}
		if value(bgp.BGP_ATTR_TYPE_AS_PATH) != string(asPath(2, c.want)) || value(bgp.BGP_ATTR_TYPE_AS4_PATH) != string(asPath(4, c.want4)) {
			t.Errorf("%q is sent as %v, %v", c.path, seen[bgp.BGP_ATTR_TYPE_AS_PATH], seen[bgp.BGP_ATTR_TYPE_AS4_PATH])
		}
		address := netip.MustParseAddr("192.0.2.1")
		narrow, wide := seen[bgp.BGP_ATTR_TYPE_AGGREGATOR].(*bgp.PathAttributeAggregator), seen[bgp.BGP_ATTR_TYPE_AS4_AGGREGATOR]
		mappable := c.aggregator == "65003"
		if narrow.Value.AS != uint32(map[bool]uint16{true: 65003, false: ASTrans}[mappable]) || narrow.Value.Address != address || (wide == nil) != mappable {
			t.Errorf("AGGREGATOR %v, %v", narrow, wide)
		}
		back, err := Neighbour{ASN: 65000, Own: 65000, TwoOctet: true}.ParseUpdate(m[HeaderLength:])
		if err != nil || back.Malformed != "" || len(back.Discarded) > 0 {
			t.Fatalf("%v, %+v", err, back)
		}
		if got, _ := find(back.Attributes.Path, attrASPath); c.want4 != "" && got != string(asPath(4, c.path)) {
			t.Errorf("%q is read back as %x", c.path, got)
		}
	}
}

// TestOurASNumberMayNeedFourOctets checks that AS_TRANS replaces such a number in our OPEN, and in paths to neighbours
// that cannot read it.
func TestOurASNumberMayNeedFourOctets(t *testing.T) {
	const ours = 4200000000
	open, err := (&Open{ASN: ours, HoldTime: 90, ID: [4]byte{10, 0, 0, 1}, Families: [Families]bool{true}}).Message()
	if err != nil {
		t.Fatal(err)
	}
	if my := open[HeaderLength+1 : HeaderLength+3]; number(my, 2) != ASTrans {
		t.Errorf("My AS is %x", my)
	}
	if read, err := ParseOpen(open[HeaderLength:]); err != nil || read.ASN != ours || !read.FourOctet {
		t.Errorf("read as %+v, %v", read, err)
	}
	u := mustParse(t, foreign(t, "65010"))
	all, ends, _ := u.Attributes.AppendAnnouncements(nil, u.ReachFamily, u.Reach, Reflection{ASN: ours}, Kind{External: true, TwoOctet: true}, 1, MaxLength)
	sent := string(finished(all, ends, "\x00\x02\xfd\xe8\x00\x00\x00\x01")[0])
	for kind, path := range map[uint8][]byte{attrASPath: asPath(2, "23456 65010"), attrAS4Path: asPath(4, "4200000000 65010")} {
		if !strings.Contains(sent, string(attr(rules[kind].flags, kind, path...))) {
			t.Errorf("attribute %d is not in %x", kind, sent)
		}
	}
}
