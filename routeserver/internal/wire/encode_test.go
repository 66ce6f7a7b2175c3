package wire

import (
	"fmt"
	"net/netip"
	"reflect"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

var reflection = Reflection{Originator: "\x0a\x00\x00\x01", Cluster: "\x0a\x00\x00\xfe"}

// finished appends the recipient's route targets to each message.
func finished(all []byte, ends []int, targets string) [][]byte {
	var messages [][]byte
	start := 0
	for _, end := range ends {
		messages = append(messages, append(append([]byte(nil), all[start:end]...), targets...))
		start = end
	}
	return messages
}

func TestAnnouncementsAreWhatGobgpReads(t *testing.T) {
	a := mustParse(t, sample(t, false)).Attributes
	rt1, _ := ParseRT("65000:1")
	rt2, _ := ParseRT("65000:2")
	for _, targets := range []string{string(rt1[:]), string(rt1[:]) + string(rt2[:])} {
		var nlris []string
		for i := range 500 {
			nlris = append(nlris, fmt.Sprintf("\x00\x11\x00\x00\xfd\xe8\x00\x00\x00\x07%c%c\x00\x01\x00\x40\x01\x00\x10", 0, 0))
			b := []byte(nlris[i])
			b[10], b[11] = byte(i>>8), byte(i)
			nlris[i] = string(b)
		}
		all, ends, skipped := a.AppendAnnouncements(nil, VPLS, nlris, reflection, Kind{}, len(targets)/8, MaxLength)
		if len(skipped) > 0 {
			t.Fatalf("%d skipped", len(skipped))
		}
		var read []string
		for _, m := range finished(all, ends, targets) {
			if len(m) > MaxLength {
				t.Errorf("a message of %d bytes", len(m))
			}
			parsed, err := bgp.ParseBGPMessage(m)
			if err != nil {
				t.Fatal(err)
			}
			attributes := parsed.Body.(*bgp.BGPUpdate).PathAttributes
			if attributes[0].GetType() != bgp.BGP_ATTR_TYPE_MP_REACH_NLRI || attributes[len(attributes)-1].GetType() != bgp.BGP_ATTR_TYPE_EXTENDED_COMMUNITIES {
				t.Error("the order of the attributes is wrong")
			}
			u := mustParse(t, m[HeaderLength:])
			read = append(read, u.Reach...)
			want := *a
			want.RTs, want.Originator, want.ClusterList = targets, reflection.Originator, reflection.Cluster
			if *u.Attributes != want {
				t.Errorf("read back as %+v", u.Attributes)
			}
		}
		if !reflect.DeepEqual(read, nlris) {
			t.Error("not the routes that were written")
		}
	}
}

// TestReflection checks that a reflector adds ORIGINATOR_ID if there is none, and its cluster; all else stays (RFC 4456).
func TestReflection(t *testing.T) {
	path := attr(flagTransitive, attrASPath, asPath(4, "64999 {64998}")...)
	rest := [][]byte{path, attr(flagOptional, attrMED, 0, 0, 0, 7), attr(0xc0, attrCommunities, 0xfd, 0xe8, 0, 1), attr(0xc0, 200, 1)}
	plain := mustParse(t, body(t, rest...))
	reflected := mustParse(t, body(t, append(rest, attr(flagOptional, attrOriginator, 9, 9, 9, 9), attr(flagOptional, attrClusterList, 8, 8, 8, 8, 7, 7, 7, 7))...))
	for _, c := range []struct {
		u                    *Update
		originator, clusters string
	}{
		{plain, reflection.Originator, reflection.Cluster},
		{reflected, "\x09\x09\x09\x09", reflection.Cluster + "\x08\x08\x08\x08\x07\x07\x07\x07"},
	} {
		want := *c.u.Attributes
		want.RTs = "\x00\x02\xfd\xe8\x00\x00\x00\x01"
		if got := announce(t, c.u, Reflection{}, Kind{}); *got != want {
			t.Errorf("without a reflection it is %+v, not %+v", got, want)
		}
		want.Originator, want.ClusterList = c.originator, c.clusters
		if got := announce(t, c.u, reflectionOf(65000), Kind{}); *got != want {
			t.Errorf("reflected as %+v, not %+v", got, want)
		}
	}
	if !reflected.Attributes.Loops("\x09\x09\x09\x09", "") || !reflected.Attributes.Loops("", "\x07\x07\x07\x07") || reflected.Attributes.Loops("aaaa", "bbbb") {
		t.Error("a loop is not seen, or seen where there is none")
	}
}

func TestWithdrawalsAreWhatGobgpReads(t *testing.T) {
	var nlris []string
	for i := range 500 {
		nlris = append(nlris, fmt.Sprintf("\x03\x11\x00\x00\xfd\xe8\x00\x00\x00\x07\x00\x00\x00\x00\x20\x0a\x00%c%c", i>>7, i&0x7f))
	}
	all, ends := AppendWithdrawals(nil, EVPN, nlris, MaxLength)
	n := 0
	for _, m := range finished(all, ends, "") {
		parsed, err := bgp.ParseBGPMessage(m)
		if err != nil {
			t.Fatal(err)
		}
		n += len(parsed.Body.(*bgp.BGPUpdate).PathAttributes[0].(*bgp.PathAttributeMpUnreachNLRI).Value)
	}
	if n != len(nlris) {
		t.Errorf("%d of %d routes", n, len(nlris))
	}
}

func TestARouteThatFitsIntoNoMessageIsSkipped(t *testing.T) {
	a := &Attributes{NextHop: "\xc0\x00\x02\x01", Communities: string(make([]byte, 8*510))}
	nlri := mustParse(t, sample(t, false)).Reach
	if _, ends, skipped := a.AppendAnnouncements(nil, VPLS, nlri, reflection, Kind{}, 1, MaxLength); len(ends) != 0 || len(skipped) != 1 {
		t.Errorf("%d messages, %d skipped", len(ends), len(skipped))
	}
	all, ends, skipped := a.AppendAnnouncements(nil, VPLS, nlri, reflection, Kind{}, 1, MaxExtended)
	if len(ends) != 1 || len(skipped) != 0 {
		t.Fatalf("%d messages, %d skipped", len(ends), len(skipped))
	}
	if _, err := bgp.ParseBGPMessage(finished(all, ends, "\x00\x02\xfd\xe8\x00\x00\x00\x01")[0]); err != nil {
		t.Error(err)
	}
}

func TestKeys(t *testing.T) {
	mac := []byte(mustParse(t, sample(t, true)).Reach[0])
	other := append([]byte(nil), mac...)
	copy(other[10:20], "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09") // ESI
	other[len(other)-1]++                                          // label
	if EVPN.Key(string(mac)) != EVPN.Key(string(other)) {
		t.Error("ESI or label is in the key of a MAC route")
	}
	other[30]++ // MAC
	if EVPN.Key(string(mac)) == EVPN.Key(string(other)) {
		t.Error("the MAC is not in the key")
	}
	block := []byte(mustParse(t, sample(t, false)).Reach[0])
	changed := append([]byte(nil), block...)
	changed[17]++ // label base
	if VPLS.Key(string(block)) != VPLS.Key(string(changed)) || SameBlock(string(changed), string(block)) {
		t.Error("the label base is in the key of a label block, or does not tell its versions apart")
	}
	copy(changed, block)
	changed[18] ^= 0x0f
	if !SameBlock(string(changed), string(block)) {
		t.Error("bits that are not a label's tell blocks apart")
	}
}

func TestTargetsAndDistinguishers(t *testing.T) {
	ip, err := bgp.NewIPv4AddressSpecificExtended(bgp.EC_SUBTYPE_ROUTE_TARGET, netip.MustParseAddr("192.0.2.1"), 7, true)
	if err != nil {
		t.Fatal(err)
	}
	for text, oracle := range map[string]bgp.ExtendedCommunityInterface{
		"65000:7":      bgp.NewTwoOctetAsSpecificExtended(bgp.EC_SUBTYPE_ROUTE_TARGET, 65000, 7, true),
		"1:4294967295": bgp.NewTwoOctetAsSpecificExtended(bgp.EC_SUBTYPE_ROUTE_TARGET, 1, 4294967295, true),
		"65000L:7":     bgp.NewFourOctetAsSpecificExtended(bgp.EC_SUBTYPE_ROUTE_TARGET, 65000, 7, true),
		"0L:0":         bgp.NewFourOctetAsSpecificExtended(bgp.EC_SUBTYPE_ROUTE_TARGET, 0, 0, true),
		"4200000000:7": bgp.NewFourOctetAsSpecificExtended(bgp.EC_SUBTYPE_ROUTE_TARGET, 4200000000, 7, true),
		"192.0.2.1:7":  ip,
	} {
		rt, err := ParseRT(text)
		if err != nil || rt.String() != text {
			t.Errorf("%s becomes %s, %v", text, rt, err)
		}
		if data, _ := oracle.Serialize(); string(data) != string(rt[:]) {
			t.Errorf("%s is %x, gobgp says %x", text, rt[:], data)
		}
		rd, err := ParseRD(text)
		if err != nil || rd.String() != text {
			t.Errorf("%s becomes %s, %v", text, rd, err)
		}
	}
	for _, text := range []string{"", "7", "65000:", ":7", "x:7", "65000:7:8", "4200000000:65536", "192.0.2.1:65536", "65000:-1", "65000:007", "1:4294967296", "4200000000L:7", "L:7", "65000L:65536", "192.0.2.1L:7", "065000:7"} {
		if rt, err := ParseRT(text); err == nil {
			t.Errorf("%q was read as %s", text, rt)
		}
	}
}

// TestEveryEncodingHasItsText checks that values that differ on the wire differ in text, and a value of a known type
// can be read back.
func TestEveryEncodingHasItsText(t *testing.T) {
	seen := map[string]string{}
	for _, value := range []string{
		"\x00\x00\xfd\xe8\x00\x00\x00\x01", "\x00\x01\x00\x00\xfd\xe8\x00\x01", "\x00\x02\x00\x00\xfd\xe8\x00\x01", "\x00\x03\x00\x00\xfd\xe8\x00\x01",
		"\x01\x00\xfd\xe8\x00\x00\x00\x01", "\x00\x02\x00\x01\xfd\xe8\x00\x01", "\x00\x03\x00\x00\x00\x00\x00\x01", "\x00\x00\x00\x03\x00\x00\x00\x01",
	} {
		rd := RD([]byte(value))
		if other, again := seen[rd.String()]; again {
			t.Errorf("%x and %x are both %s", value, other, rd)
		}
		seen[rd.String()] = value
		if again, err := ParseRD(rd.String()); value[0] == 0 && value[1] <= 2 && (err != nil || again != rd) {
			t.Errorf("%s is read back as %x, %v", rd, again, err)
		}
	}
	short, long := must(ParseRT("65000:1"))(t), must(ParseRT("65000L:1"))(t)
	if short == long || !short.Resembles(long) || !long.Resembles(short) || short.Resembles(short) || short.Resembles(must(ParseRT("65000L:2"))(t)) {
		t.Error("a route target does not resemble its other encoding alone")
	}
}
