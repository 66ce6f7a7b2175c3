package wire

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

// must returns the value or ends the test.
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func vpnRoute(t testing.TB, rd, prefix string, label uint32) bgp.NLRI {
	t.Helper()
	d := must(bgp.ParseRouteDistinguisher(rd))(t)
	return must(bgp.NewLabeledVPNIPAddrPrefix(netip.MustParsePrefix(prefix), *bgp.NewMPLSLabelStack(label), d))(t)
}

// flowRoute matches TCP or UDP from one prefix to ports of another one.
func flowRoute(t testing.TB, f Family, rd, destination, source string, ports ...uint64) bgp.NLRI {
	t.Helper()
	to, from := must(bgp.NewIPAddrPrefix(netip.MustParsePrefix(destination)))(t), must(bgp.NewIPAddrPrefix(netip.MustParsePrefix(source)))(t)
	parts := []bgp.FlowSpecComponentInterface{bgp.NewFlowSpecDestinationPrefix(to), bgp.NewFlowSpecSourcePrefix(from)}
	if f == Flow6 || f == FlowVPN6 {
		parts = []bgp.FlowSpecComponentInterface{bgp.NewFlowSpecDestinationPrefix6(to, 0), bgp.NewFlowSpecSourcePrefix6(from, 0)}
	}
	items := []*bgp.FlowSpecComponentItem{bgp.NewFlowSpecComponentItem(1, 6), bgp.NewFlowSpecComponentItem(1, 17)}
	parts = append(parts, bgp.NewFlowSpecComponent(bgp.FLOW_SPEC_TYPE_IP_PROTO, items))
	items = nil
	for _, p := range ports {
		items = append(items, bgp.NewFlowSpecComponentItem(1, p))
	}
	parts = append(parts, bgp.NewFlowSpecComponent(bgp.FLOW_SPEC_TYPE_DST_PORT, items))
	family := bgp.NewFamily(f.AFI(), f.SAFI())
	if rd == "" {
		return must(bgp.NewFlowSpecUnicast(family, parts))(t)
	}
	return must(bgp.NewFlowSpecVPN(family, must(bgp.ParseRouteDistinguisher(rd))(t), parts))(t)
}

// longFilter matches many ports. It is written by hand, since gobgp cannot read or write filters of 240 bytes and more.
func longFilter(ports int) string {
	v := []byte{5}
	for i := range ports {
		v = append(v, 0x11, byte(4+i>>8), byte(i))
	}
	v[len(v)-3] |= 0x80
	return string(append([]byte{flowLong | byte(len(v)>>8), byte(len(v))}, v...))
}

// TestLongFilters checks that the longest accepted filter can be withdrawn in any message.
func TestLongFilters(t *testing.T) {
	for ports, fits := range map[int]bool{80: true, 1354: true, 1355: false} {
		n, ok, skip := formats[Flow4].split([]byte(longFilter(ports)))
		if n != 3+3*ports || ok != fits || skip {
			t.Errorf("%d ports: %d bytes, %t", ports, n, ok)
		}
	}
	nlri := longFilter(1354)
	all, ends := AppendWithdrawals(nil, Flow4, []string{longFilter(80), nlri}, MaxLength)
	if len(ends) != 2 || len(all)-ends[0] > MaxLength {
		t.Fatalf("messages end at %v", ends)
	}
	if u := mustParse(t, all[ends[0]+HeaderLength:]); u.Malformed != "" || len(u.Unreach) != 1 || u.Unreach[0] != nlri {
		t.Errorf("read back as %+v", u)
	}
	// From bit 16 to bit 33 of the destination, 17 bits: RFC 8956 section 3.1.
	offset := "\x06\x01\x21\x10\x20\x01\xff"
	if n, ok, _ := formats[Flow6].split([]byte(offset)); n != len(offset) || !ok || Flow6.Text(offset) != "060121102001ff" {
		t.Errorf("%d bytes, %t, %s", n, ok, Flow6.Text(offset))
	}
	if Flow6.Key(offset) != offset[:6]+"\x80" {
		t.Errorf("key %x", Flow6.Key(offset))
	}
	if Flow4.Key(nlri) != nlri || Flow4.Text(nlri) == Flow4.Text(longFilter(80)) {
		t.Error("the key or the text is not the filter's own")
	}
}

// samples returns routes of the families for which gobgp is the oracle here, as it writes them.
func samples(t testing.TB) map[Family][]bgp.NLRI {
	rt := must(bgp.ParseRouteTarget("65000:7"))(t)
	return map[Family][]bgp.NLRI{
		VPNv4:    {vpnRoute(t, "65000:7", "10.1.2.0/23", 100), vpnRoute(t, "192.0.2.1:7", "0.0.0.0/0", 16), vpnRoute(t, "4200000000:7", "10.0.0.1/32", 1048575)},
		VPNv6:    {vpnRoute(t, "65000:7", "2001:db8::/33", 100), vpnRoute(t, "65000:7", "2001:db8::1/128", 3)},
		Flow4:    {flowRoute(t, Flow4, "", "10.0.0.0/9", "0.0.0.0/0", 80), flowRoute(t, Flow4, "", "10.0.0.0/9", "192.0.2.1/32", 80, 443, 70000)},
		Flow6:    {flowRoute(t, Flow6, "", "2001:db8::/33", "::/0", 80)},
		FlowVPN4: {flowRoute(t, FlowVPN4, "65000:7", "10.0.0.0/9", "192.0.2.1/32", 80), flowRoute(t, FlowVPN4, "65000:7", "10.0.0.0/9", "192.0.2.1/32", 53)},
		FlowVPN6: {flowRoute(t, FlowVPN6, "65000:7", "2001:db8::/33", "::/0", 443)},
		RTC: {
			bgp.NewRouteTargetMembershipNLRI(65000, rt),
			must(bgp.NLRIFromSlice(bgp.RF_RTC_UC, []byte{0}))(t),
		},
	}
}

func message(t testing.TB, f Family, nlris []bgp.NLRI) []byte {
	t.Helper()
	hop := netip.MustParseAddr("192.0.2.1")
	if f == VPNv6 {
		hop = netip.MustParseAddr("2001:db8::9")
	}
	paths := make([]bgp.PathNLRI, len(nlris))
	for i := range nlris {
		paths[i].NLRI = nlris[i]
	}
	reach := must(bgp.NewPathAttributeMpReachNLRI(bgp.NewFamily(f.AFI(), f.SAFI()), paths, hop))(t)
	m := bgp.NewBGPUpdateMessage(nil, []bgp.PathAttributeInterface{
		bgp.NewPathAttributeOrigin(0), bgp.NewPathAttributeAsPath(nil), bgp.NewPathAttributeLocalPref(100), reach,
		bgp.NewPathAttributeExtendedCommunities([]bgp.ExtendedCommunityInterface{must(bgp.ParseRouteTarget("65000:7"))(t)}),
	}, nil)
	return must(m.Serialize())(t)[HeaderLength:]
}

// TestFamiliesAsGobgpSpeaksThem checks that we read each route that gobgp writes, and gobgp reads the routes that we
// send on as the same.
func TestFamiliesAsGobgpSpeaksThem(t *testing.T) {
	for f, nlris := range samples(t) {
		u := mustParse(t, message(t, f, nlris))
		if u.Malformed != "" || u.ReachFamily != f || len(u.Reach) != len(nlris) {
			t.Errorf("%s: %q, %s, %d routes", f, u.Malformed, u.ReachFamily, len(u.Reach))
			continue
		}
		for i, n := range u.Reach {
			if string(must(nlris[i].Serialize())(t)) != n || f.Text(n) != nlris[i].String() || len(f.Fields(n)) == 0 {
				t.Errorf("%s: %x is %s", f, n, f.Text(n))
			}
		}
		all, ends, skipped := u.Attributes.AppendAnnouncements(nil, f, u.Reach, reflection, Kind{}, 1, MaxLength)
		withdrawals, wends := AppendWithdrawals(nil, f, u.Reach, MaxLength)
		if len(skipped) > 0 {
			t.Fatalf("%s: %d skipped", f, len(skipped))
		}
		announced, withdrawn := []string{}, []string{}
		for _, m := range append(finished(all, ends, "\x00\x02\xfd\xe8\x00\x00\x00\x01"), finished(withdrawals, wends, "")...) {
			parsed, err := bgp.ParseBGPMessage(m)
			if err != nil {
				t.Fatalf("%s: gobgp cannot read %x: %v", f, m, err)
			}
			for _, a := range parsed.Body.(*bgp.BGPUpdate).PathAttributes {
				switch a := a.(type) {
				case *bgp.PathAttributeMpReachNLRI:
					if f.Flow() == a.Nexthop.IsValid() {
						t.Errorf("%s: next hop %s", f, a.Nexthop)
					}
					for _, n := range a.Value {
						announced = append(announced, n.NLRI.String())
					}
				case *bgp.PathAttributeMpUnreachNLRI:
					for _, n := range a.Value {
						withdrawn = append(withdrawn, n.NLRI.String())
					}
				}
			}
		}
		want := []string{}
		for _, n := range nlris {
			want = append(want, n.String())
		}
		if !slices.Equal(announced, want) || !slices.Equal(withdrawn, want) {
			t.Errorf("%s: %v announced, %v withdrawn", f, announced, withdrawn)
		}
	}
}

func TestNextHops(t *testing.T) {
	for hop, want := range map[string]string{
		"\xc0\x00\x02\x01": "192.0.2.1",
		"\x00\x00\x00\x00\x00\x00\x00\x00\xc0\x00\x02\x01":                                   "192.0.2.1",
		strings.Repeat("\x00", 8) + "\x20\x01\x0d\xb8" + strings.Repeat("\x00", 11) + "\x09": "2001:db8::9",
		"": "",
	} {
		if got := (&Attributes{NextHop: hop}).Hop(); got != want {
			t.Errorf("%x is %s", hop, got)
		}
	}
	good := message(t, VPNv4, samples(t)[VPNv4])
	at := strings.Index(string(good), "\x00\x01\x80\x0c")
	bad := []byte(strings.Replace(string(good), "\x00\x01\x80\x0c", "\x00\x01\x80\x0b", 1))
	if at < 0 {
		t.Fatal("there is no next hop of 12 bytes")
	}
	// The NLRIs then begin a byte early, and are unreadable.
	if u, err := ParseUpdate(bad, 65000); err == nil && u.Malformed == "" {
		t.Errorf("accepted: %+v", u)
	}
}

func TestKeysOfPrefixesAndFilters(t *testing.T) {
	key := func(f Family, n bgp.NLRI) string { return f.Key(string(must(n.Serialize())(t))) }
	if key(VPNv4, vpnRoute(t, "65000:7", "10.1.0.0/20", 100)) != key(VPNv4, vpnRoute(t, "65000:7", "10.1.0.0/20", 200)) {
		t.Error("the label is in the key")
	}
	whole := string(must(vpnRoute(t, "65000:7", "10.1.0.0/20", 100).Serialize())(t))
	stray := whole[:len(whole)-1] + "\x0f" // 10.1.15.0/20
	if VPNv4.Key(whole) != VPNv4.Key(stray) {
		t.Error("bits beyond the prefix are in the key")
	}
	if key(VPNv4, vpnRoute(t, "65000:7", "10.1.0.0/20", 1)) == key(VPNv4, vpnRoute(t, "65000:8", "10.1.0.0/20", 1)) ||
		key(VPNv4, vpnRoute(t, "65000:7", "10.1.0.0/20", 1)) == key(VPNv4, vpnRoute(t, "65000:7", "10.1.0.0/21", 1)) {
		t.Error("different routes have the same key")
	}
	filter := string(must(flowRoute(t, FlowVPN4, "65000:7", "10.0.0.0/9", "0.0.0.0/0", 80).Serialize())(t))
	at := strings.Index(filter, "\x01\x09\x0a\x00")
	if other := filter[:at+3] + "\x7f" + filter[at+4:]; at < 0 || FlowVPN4.Key(other) != FlowVPN4.Key(filter) {
		t.Error("bits beyond a prefix of a filter are in the key")
	}
	if FlowVPN4.Distinguisher(filter) != "65000:7" || Flow4.Distinguisher(filter) != "" {
		t.Errorf("RD %q", FlowVPN4.Distinguisher(filter))
	}
}

func TestMalformedNLRIs(t *testing.T) {
	host := "\x70\x00\x06\x41\x00\x00\xfd\xe8\x00\x00\x00\x07\x0a\x00"
	for _, c := range []struct {
		family Family
		nlri   string
		fatal  bool
	}{
		{VPNv4, "\x79" + host[1:] + "\x00\x01\x00", true},                       // 33 bits of prefix
		{VPNv4, "\x57" + host[1:12], true},                                      // shorter than label and RD
		{VPNv4, "\x70" + host[1:12], true},                                      // cut off
		{VPNv6, "\xd9" + host[1:12] + strings.Repeat("\x00", 17), true},         // 129 bits
		{Flow4, "\x00", false},                                                  // no component
		{Flow4, "\x05\x01\x08\x0a\x01", true},                                   // cut off
		{Flow4, "\x03\x01\x21\x0a", false},                                      // prefix of 33 bits
		{Flow4, "\x06\x02\x08\x0a\x01\x08\x0a", false},                          // out of order
		{Flow4, "\x06\x01\x08\x0a\x01\x08\x0b", false},                          // twice
		{Flow4, "\x03\x0d\x81\x06", false},                                      // unknown component
		{Flow4, "\x03\x03\x01\x06", false},                                      // list without an end
		{Flow4, "\x03\x03\x91\x06", false},                                      // value cut off
		{Flow4, "\xf0\x03\x01\x08\x0a", false},                                  // long form of a short length
		{Flow6, "\x05\x01\x10\x10\x20\x01", false},                              // offset beyond the prefix
		{Flow6, "\x04\x01\x81\x00\x20", false},                                  // 129 bits
		{FlowVPN4, "\x08\x00\x00\xfd\xe8\x00\x00\x00\x07", false},               // RD and nothing else
		{FlowVPN4, "\x03\x01\x08\x0a", false},                                   // no RD
		{RTC, "\x1f\x00\x00\xfd\xe8", false},                                    // part of an AS number
		{RTC, "\x61\x00\x00\xfd\xe8\x00\x02\xfd\xe8\x00\x00\x00\x07\x80", true}, // 97 bits
	} {
		value := fmt.Sprintf("%c%c%c", c.family.AFI()>>8, c.family.AFI(), 0) // SAFI below
		unreach := []byte(value + c.nlri)
		unreach[2] = c.family.SAFI()
		body := appendAttribute([]byte{0, 0, 0, byte(3 + len(unreach))}, flagOptional, attrUnreach, unreach)
		u, err := ParseUpdate(body, 65000)
		if c.fatal != (err != nil) || err == nil && (u.Malformed == "" || len(u.Unreach) > 0) {
			t.Errorf("%s %x: %+v, %v", c.family, c.nlri, u, err)
		}
	}
}

func TestMembership(t *testing.T) {
	rt, other := must(ParseRT("65000:7"))(t), must(ParseRT("65000:8"))(t)
	whole := string(must(bgp.NewRouteTargetMembershipNLRI(65000, must(bgp.ParseRouteTarget("65000:7"))(t)).Serialize())(t))
	if got, one := WholeTarget(whole); !one || got != rt || !Covers(whole, rt) || Covers(whole, other) {
		t.Errorf("%x asks for %s", whole, got)
	}
	if !Covers("\x00", rt) || !Covers("\x20\x00\x00\xfd\xe8", rt) {
		t.Error("a default does not ask for everything")
	}
	prefix := "\x5c" + whole[1:] // without the last four bits, in which the two differ
	if !Covers(prefix, rt) || !Covers(prefix, other) || Covers(prefix, must(ParseRT("65000:16"))(t)) {
		t.Error("a prefix of a route target does not ask for what begins with it")
	}
	if changed := prefix[:12] + "\x0f"; RTC.Key(changed) != RTC.Key(prefix) {
		t.Error("bits beyond the prefix are in the key")
	}
	var kinds []string
	for stream := AllTargets([4]byte{10, 0, 0, 1}, 65000, Kind{}); len(stream) > 0; {
		m, err := bgp.ParseBGPMessage(stream)
		if err != nil {
			t.Fatal(err)
		}
		stream = stream[m.Header.Len:]
		u := m.Body.(*bgp.BGPUpdate)
		if end, f := u.IsEndOfRib(); end {
			kinds = append(kinds, "end of "+f.String())
			continue
		}
		reach := u.PathAttributes[0].(*bgp.PathAttributeMpReachNLRI)
		kinds = append(kinds, reach.Value[0].NLRI.String()+" by "+reach.Nexthop.String())
	}
	if want := []string{must(bgp.NLRIFromSlice(bgp.RF_RTC_UC, []byte{0}))(t).String() + " by 10.0.0.1", "end of rtc"}; !slices.Equal(kinds, want) {
		t.Errorf("%q, not %q", kinds, want)
	}
}

func TestStrays(t *testing.T) {
	target6 := "\x00\x02" + strings.Repeat("\x20", 18)
	for name, c := range map[string]struct {
		a                  Attributes
		targets, redirects bool
	}{
		"nothing":           {Attributes{Communities: "\x80\x06\x00\x00\x00\x00\x00\x00"}, false, false}, // a rate
		"redirect":          {Attributes{Communities: "\x80\x06\x00\x00\x00\x00\x00\x00\x80\x08\xfd\xe8\x00\x00\x00\x01"}, false, true},
		"redirect by AS4":   {Attributes{Communities: "\x82\x08\xfd\xe8\x00\x00\x00\x01"}, false, true},
		"IPv6 route target": {Attributes{Path: string(appendAttribute(nil, 0xc0, attrExtCommunities6, []byte(target6)))}, true, false},
		"IPv6 redirect":     {Attributes{Path: string(appendAttribute(nil, 0xc0, attrExtCommunities6, []byte("\x00\x0d"+target6[2:])))}, false, true},
	} {
		if targets, redirects := c.a.Strays(); targets != c.targets || redirects != c.redirects {
			t.Errorf("%s: %t, %t", name, targets, redirects)
		}
	}
}

// FuzzFamilies checks that gobgp can read each NLRI that we find well-formed, and the lengths agree.
func FuzzFamilies(f *testing.F) {
	for family, nlris := range samples(f) {
		for _, n := range nlris {
			f.Add(uint8(family), must(n.Serialize())(f))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		family := Family(kind)
		if family >= Families {
			return
		}
		n, ok, skip := formats[family].split(data)
		if n > len(data) {
			t.Fatal("longer than there is")
		}
		if !ok || skip || family == EVPN {
			return
		}
		mine := string(data[:n])
		if formats[family].labelled {
			if mine, _ = vpnReadings(mine, family); mine == "" {
				return
			}
		}
		if formats[family].canonical != nil {
			mine = formats[family].canonical(mine)
		}
		n, data = len(mine), []byte(mine)
		if family.Key(mine) == "" || len(family.Fields(mine)) == 0 {
			t.Fatalf("%x has no key or fields", mine)
		}
		if family == RTC && n > 5 && (n < 13 || !isRT(data[5:])) || family.Flow() && (data[0] >= flowLong || family.flowOffset(mine)) {
			return // gobgp checks the content of communities, and misreads some filters
		}
		nlri, err := bgp.NLRIFromSlice(bgp.NewFamily(family.AFI(), family.SAFI()), []byte(mine))
		if err != nil {
			t.Fatalf("%s: gobgp cannot read %x: %v", family, mine, err)
		}
		if nlri.Len() != n && !family.Flow() { // gobgp writes some values of filters in a shorter form
			t.Fatalf("%s %x: %d bytes, gobgp says %d", family, mine, n, nlri.Len())
		}
	})
}
