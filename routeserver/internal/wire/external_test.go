package wire

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

var outsider = Neighbour{ASN: 65001, Own: 65000}

// asPath encodes a path such as "1 2 | 3 {4 5} (6 7) [8]": sequences, sets, and sequences and sets of a confederation.
func asPath(octets int, text string) []byte {
	var path []byte
	kind, start := byte(asSequence), -1
	for _, word := range strings.Fields(strings.NewReplacer("{", " { ", "}", " } ", "(", " ( ", ")", " } ", "[", " [ ", "]", " } ").Replace(text)) {
		if at := strings.Index("{ ([", word); at >= 0 {
			kind, start = byte(at+1), -1
			continue
		}
		if word == "}" || word == "|" { // a new sequence
			kind, start = asSequence, -1
			continue
		}
		if start < 0 {
			start, path = len(path), append(path, kind, 0)
		}
		path[start+1]++
		n, err := strconv.ParseUint(word, 10, 32)
		if err != nil {
			panic(err)
		}
		path = append(path, binary.BigEndian.AppendUint32(nil, uint32(n))[4-octets:]...)
	}
	return path
}

// body returns an UPDATE with one VPLS route and these further attributes, in order: type 2 replaces the empty AS_PATH.
func body(t testing.TB, attributes ...[]byte) []byte {
	t.Helper()
	b := append([]byte(nil), without(t, attrASPath)...)
	for _, a := range attributes {
		b = append(b, a...)
	}
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)-4))
	return b
}

func attr(flags, kind uint8, value ...byte) []byte { return appendAttribute(nil, flags, kind, value) }

// find returns the value of an attribute.
func find(run string, kind uint8) (found string, there bool) {
	EachAttribute(run, func(_, k uint8, value, _ string) {
		if k == kind {
			found, there = value, true
		}
	})
	return found, there
}

// foreign returns body with a path.
func foreign(t testing.TB, path string, more ...[]byte) []byte {
	return body(t, append([][]byte{attr(flagTransitive, attrASPath, asPath(4, path)...)}, more...)...)
}

func TestExternalPeers(t *testing.T) {
	for name, c := range map[string]struct {
		path      string
		malformed string
		loop      bool
	}{
		"well":                        {path: "65001"},
		"from far":                    {path: "65001 64999 {64500 64501}"},
		"no path":                     {malformed: "begins with AS 0"},
		"another first AS":            {path: "64999 65001", malformed: "begins with AS 64999"},
		"a set of others first":       {path: "{64999 65001}", malformed: "begins with AS 64999"},
		"a confederation's segment":   {path: "65001 (64999)", malformed: "confederation"},
		"AS 0":                        {path: "65001 0", malformed: "AS_PATH"},
		"our AS":                      {path: "65001 65000", loop: true},
		"our AS in a set":             {path: "65001 {64999 65000}", loop: true},
		"our AS in a second sequence": {path: "65001 {64999} 65000", loop: true},
	} {
		u, err := outsider.ParseUpdate(foreign(t, c.path))
		if err != nil {
			t.Fatal(err)
		}
		if (u.Malformed != "") != (c.malformed != "") || !strings.Contains(u.Malformed, c.malformed) || u.Attributes.Loop != c.loop || len(u.Reach) != 1 {
			t.Errorf("%s: read as %+v, %+v", name, u, u.Attributes)
		}
	}
}

// TestWhatExternalPeersAreNotToSend checks RFC 7606 sections 7.5, 7.9 and 7.10, and RFC 4360 section 6.
func TestWhatExternalPeersAreNotToSend(t *testing.T) {
	u, err := outsider.ParseUpdate(foreign(t, "65001", // sample has a LOCAL_PREF
		attr(flagOptional, attrOriginator, 1, 2, 3), attr(flagOptional, attrClusterList, 1, 2, 3, 4),
		attr(flagOptional|flagTransitive, attrExtCommunities6, append([]byte{0x40, 2}, make([]byte, 18)...)...)))
	if err != nil || u.Malformed != "" {
		t.Fatalf("%v, %+v", err, u)
	}
	if got := fmt.Sprint(u.Discarded); got != "[LOCAL_PREF ORIGINATOR_ID CLUSTER_LIST]" {
		t.Errorf("discarded %s", got)
	}
	for _, kind := range []uint8{attrLocalPref, attrOriginator, attrClusterList, attrExtCommunities6} {
		if _, there := find(u.Attributes.Path, kind); there {
			t.Errorf("attribute %d is carried on", kind)
		}
	}
	if u.Attributes.Originator+u.Attributes.ClusterList != "" {
		t.Errorf("%+v", u.Attributes)
	}
	local := append([]byte{0x40, 4, 0xfd, 0xe8}, 0, 0, 0, 1)
	u, err = outsider.ParseUpdate(edit(t, foreign(t, "65001"), "\xc0\x10\x10", 3, local...))
	if err != nil || u.Malformed != "" || strings.Contains(u.Attributes.Communities, string(local)) || len(u.Discarded) != 1 {
		t.Errorf("a community that is not to leave its AS was taken in: %v, %+v", err, u.Attributes)
	}
	if u = mustParse(t, edit(t, sample(t, false), "\xc0\x10\x10", 3, local...)); !strings.Contains(u.Attributes.Communities, string(local)) {
		t.Error("and was not from an internal peer")
	}
}

func TestRoutesThatLeaveTheAS(t *testing.T) {
	const med, medText = "\x80\x04\x04\x00\x00\x00\x07", "\x00\x00\x00\x07"
	full := strings.TrimSpace(strings.Repeat("64999 ", 255))
	for _, c := range []struct{ path, sent, med string }{
		{"", "65000", medText},
		{"65010 65011", "65000 65010 65011", ""},
		{"{65010}", "65000 {65010}", ""},
		{"(65020) [65021]", "65000", medText},
		{"(65020) 65010", "65000 65010", ""},
		{full, "65000 | " + full, ""},
	} {
		u := mustParse(t, foreign(t, c.path, []byte(med),
			attr(flagOptional, attrOriginator, 1, 2, 3, 4), attr(flagOptional, attrClusterList, 1, 2, 3, 4),
			attr(flagOptional|flagTransitive, attrExtCommunities6, append(append([]byte{0x40, 9}, make([]byte, 18)...), append([]byte{0, 9}, make([]byte, 18)...)...)...)))
		u.Attributes.Communities += "\x40\x04\xfd\xe8\x00\x00\x00\x01"
		m := announce(t, u, reflectionOf(65000), Kind{External: true})
		if path, _ := find(m.Path, attrASPath); path != string(asPath(4, c.sent)) {
			t.Errorf("path %q is sent as %x", c.path, path)
		}
		if got, _ := find(m.Path, attrMED); got != c.med {
			t.Errorf("path %q: MULTI_EXIT_DISC is sent as %x", c.path, got)
		}
		if six, _ := find(m.Path, attrExtCommunities6); six != "\x00\x09"+strings.Repeat("\x00", 18) {
			t.Errorf("IPv6 communities are sent as %x", six)
		}
		if _, there := find(m.Path, attrLocalPref); there || m.Originator+m.ClusterList != "" || strings.Contains(m.Communities, "\x40\x04") {
			t.Errorf("path %q is sent with %+v", c.path, m)
		}
		if m.NextHop != u.Attributes.NextHop {
			t.Errorf("next hop %x", m.NextHop)
		}
	}
}

func TestRoutesThatEnterTheAS(t *testing.T) {
	u, err := outsider.ParseUpdate(foreign(t, "65001 64999", []byte("\x80\x04\x04\x00\x00\x00\x07")))
	if err != nil {
		t.Fatal(err)
	}
	m := announce(t, u, Reflection{ASN: 65000}, Kind{})
	if path, _ := find(m.Path, attrASPath); path != string(asPath(4, "65001 64999")) {
		t.Errorf("AS_PATH %x", path)
	}
	pref, _ := find(m.Path, attrLocalPref)
	med, _ := find(m.Path, attrMED)
	if pref != "\x00\x00\x00\x64" || med != "\x00\x00\x00\x07" || m.Originator+m.ClusterList != "" {
		t.Errorf("sent as %+v", m)
	}
	m = announce(t, u, Reflection{ASN: 65000}, Kind{External: true})
	if path, _ := find(m.Path, attrASPath); path != string(asPath(4, "65000 65001 64999")) {
		t.Errorf("AS_PATH to a third AS %x", path)
	}
	if _, there := find(m.Path, attrMED); there {
		t.Error("one neighbouring AS's MULTI_EXIT_DISC went to another")
	}
}

func reflectionOf(asn uint32) Reflection { r := reflection; r.ASN = asn; return r }

// announce encodes a route, has gobgp read it, and returns its attributes as four-octet neighbours see them.
func announce(t *testing.T, u *Update, r Reflection, k Kind) *Attributes {
	t.Helper()
	all, ends, _ := u.Attributes.AppendAnnouncements(nil, u.ReachFamily, u.Reach, r, k, 1, MaxLength)
	m := finished(all, ends, "\x00\x02\xfd\xe8\x00\x00\x00\x01")[0]
	if _, err := bgp.ParseBGPMessage(m); err != nil {
		t.Fatal(err)
	}
	from := Neighbour{ASN: 65010, Own: 65010} // an internal one keeps everything
	from.TwoOctet = k.TwoOctet
	again, err := from.ParseUpdate(m[HeaderLength:])
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Discarded) > 0 || again.Malformed != "" && again.Malformed != "LOCAL_PREF is missing" {
		t.Errorf("read back as %+v", again)
	}
	return again.Attributes
}

func TestScope(t *testing.T) {
	for text, c := range map[string]struct{ internal, external bool }{
		"\xfd\xe8\x00\x01":                 {true, true},
		"\xff\xff\xff\x01":                 {true, false},
		"\xff\xff\xff\x03\xfd\xe8\x00\x01": {true, false},
		"\xff\xff\xff\x02\xff\xff\xff\x01": {false, false},
	} {
		s := mustParse(t, with(t, 0xc0, attrCommunities, []byte(text)...)).Attributes.Scope()
		if s.Reaches(false) != c.internal || s.Reaches(true) != c.external {
			t.Errorf("%x: %q", text, s)
		}
	}
}
