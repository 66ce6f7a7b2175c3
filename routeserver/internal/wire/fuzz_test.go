package wire

import (
	"bytes"
	"errors"
	"net/netip"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/poisons"
)

// FuzzParseUpdate checks that no input causes a panic; an accepted UPDATE can be sent on, we read it back unchanged,
// and gobgp can read it too.
func FuzzParseUpdate(f *testing.F) {
	for _, evpn := range []bool{false, true} {
		f.Add(sample(f, evpn))
		f.Add(sample(f, evpn)[:40])
	}
	for family, nlris := range samples(f) {
		f.Add(message(f, family, nlris))
	}
	f.Add(foreign(f, "65001 {64999 4200000001} (65009) 65002"))
	f.Add(body(f, attr(flagTransitive, attrASPath, asPath(2, "65001 23456")...), attr(0xc0, attrAS4Path, asPath(4, "4200000001")...),
		attr(0xc0, attrAggregator, 0x5b, 0xa0, 192, 0, 2, 1), attr(0xc0, attrAS4Aggregator, 250, 86, 234, 1, 192, 0, 2, 1)))
	f.Add(EndOfRIB(VPLS)[HeaderLength:])
	f.Add([]byte{0, 0, 0, 0})
	for _, family := range []string{poisons.VPLS, poisons.EVPN, poisons.VPNv4, poisons.VPNv6} {
		for _, p := range poisons.In(family, poisoned) {
			f.Add(p.Announcement[HeaderLength:])
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, from := range []Neighbour{
			{ASN: 65000, Own: 65000}, {ASN: 65001, Own: 65000}, {ASN: 65000, Own: 65000, TwoOctet: true}, {ASN: 65001, Own: 65000, TwoOctet: true},
		} {
			fuzzUpdate(t, from, body)
		}
	})
}

func fuzzUpdate(t *testing.T, from Neighbour, body []byte) {
	u, err := from.ParseUpdate(body)
	if err != nil {
		var n *Notification
		if !errors.As(err, &n) || n.Code != UpdateError || u != nil {
			t.Fatalf("error %v", err)
		}
		return
	}
	if u.Malformed != "" || len(u.Reach) == 0 {
		return
	}
	for _, n := range u.Reach {
		rd := len(u.ReachFamily.RD(n)) == 8 || formats[u.ReachFamily].rd == nil
		if u.ReachFamily.Key(n) == "" || !rd || len(u.ReachFamily.Fields(n)) == 0 {
			t.Fatalf("NLRI %x has no key, RD or fields", n)
		}
		sameContent(t, u.ReachFamily, n)
	}
	r := Reflection{ASN: 65000}
	if !from.External() {
		r = reflectionOf(65000)
	}
	settled(t, u, r, !gobgpReads(u))
	u.Attributes.Describe()
	u.Attributes.Ends(func(netip.Addr) {})
	for _, k := range []Kind{{}, {External: true}, {TwoOctet: true}, {External: true, TwoOctet: true}} {
		fuzzAnnounce(t, u, from, k)
	}
}

// gobgpReads reports whether gobgp (4.8) has the forms of all NLRIs and extended communities: it has the EVPN types 1
// to 5, and not all extended communities of EVPN; for filters see Family.read.
func gobgpReads(u *Update) bool {
	for c := u.Attributes.Communities; len(c) >= 8; c = c[8:] {
		if _, err := bgp.ParseExtended([]byte(c[:8])); err != nil {
			return false
		}
	}
	for _, n := range u.Reach {
		if u.ReachFamily == EVPN && n[0] > evpnPrefix {
			return false
		}
		if u.ReachFamily.Flow() {
			if _, err := u.ReachFamily.read(n); err != nil {
				return false
			}
		}
	}
	return true
}

// fuzzAnnounce checks that a route accepted from one neighbour can be sent to another kind, which reads the expected
// attributes.
func fuzzAnnounce(t *testing.T, u *Update, from Neighbour, k Kind) {
	r := Reflection{ASN: 65000}
	if !from.External() {
		r = reflectionOf(65000)
	}
	all, ends, skipped := u.Attributes.AppendAnnouncements(nil, u.ReachFamily, u.Reach, r, k, 1, MaxExtended)
	if len(skipped) > 0 {
		return
	}
	want := u.Attributes.Towards(k, r)
	reader := Neighbour{ASN: 65000, Own: 65000, TwoOctet: k.TwoOctet}
	if k.External {
		reader.Own = 65002
	}
	target := "\x00\x02\xfd\xe8\x00\x00\x00\x01"
	for _, m := range finished(all, ends, target) {
		again, err := reader.ParseUpdate(m[HeaderLength:])
		if err != nil || again.Malformed != "" {
			t.Fatalf("what was accepted is not read back: %v, %+v", err, again)
		}
		if k.TwoOctet { // the path was put together again
			continue
		}
		if got := again.Attributes; got.Path != want.Path || got.RTs != target || got.Communities != want.Communities || got.Originator != want.Originator {
			t.Fatalf("read back as %+v, was %+v", got, want)
		}
	}
}

// FuzzReadMessage checks that framing never panics, and the length field of a message that is read is right.
func FuzzReadMessage(f *testing.F) {
	f.Add(Keepalive)
	f.Add(Refresh(EVPN, RefreshRequest))
	f.Add((&Notification{Code: Cease, Subcode: AdminShutdown, Data: []byte{2, 'h', 'i'}}).Message())
	f.Fuzz(func(t *testing.T, data []byte) {
		var buf []byte
		kind, body, err := ReadMessage(bytes.NewReader(data), &buf)
		if err != nil {
			return
		}
		switch kind {
		case TypeNotification:
			_ = ParseNotification(body).Error()
		case TypeRefresh:
			_, _, _, _ = ParseRefresh(body)
		case TypeOpen:
			parseOpen(t, body)
		}
		if HeaderLength+len(body) > len(data) {
			t.Fatal("more was read than there is")
		}
	})
}

func parseOpen(t *testing.T, body []byte) {
	o, err := ParseOpen(body)
	var n *Notification
	if err != nil && (!errors.As(err, &n) || n.Code != OpenError) {
		t.Fatalf("error %v", err)
	}
	if err == nil && o == nil {
		t.Fatal("neither an OPEN nor an error")
	}
}

// FuzzParseOpen checks that an OPEN never causes a panic, and a refused one gives an OPEN error.
func FuzzParseOpen(f *testing.F) {
	ours := Open{ASN: 4200000000, HoldTime: 90, ID: [4]byte{10, 0, 0, 1}, Families: [Families]bool{true, true}}
	data, err := ours.Message()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data[HeaderLength:])
	f.Add([]byte{3, 0, 0})
	f.Add([]byte{4, 0, 1, 0, 90, 1, 2, 3, 4, 6, 2, 4, 1, 1, 0, 0})
	f.Fuzz(func(t *testing.T, body []byte) { parseOpen(t, body) })
}

// FuzzEVPN checks that gobgp can read each EVPN route of the types 1 to 5 that we find well-formed, and the lengths agree.
func FuzzEVPN(f *testing.F) {
	f.Add([]byte(mustSeed(f)))
	f.Add([]byte("\x03\x11\x00\x00\xfd\xe8\x00\x00\x00\x07\x00\x00\x00\x00\x20\x0a\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, ok, skip := splitEVPN(data)
		if n > len(data) {
			t.Fatal("longer than there is")
		}
		if !ok || skip || data[0] > evpnPrefix {
			return
		}
		nlri, err := bgp.NLRIFromSlice(bgp.RF_EVPN, data[:n])
		if err != nil {
			t.Fatalf("gobgp cannot read %x: %v", data[:n], err)
		}
		if nlri.Len() != n {
			t.Fatalf("%d bytes, gobgp says %d", n, nlri.Len())
		}
	})
}

func mustSeed(f *testing.F) string {
	u, err := ParseUpdate(sample(f, true), 65000)
	if err != nil {
		f.Fatal(err)
	}
	return u.Reach[0]
}

// FuzzVPLS checks that the lengths agree with gobgp's for every well-formed label block.
func FuzzVPLS(f *testing.F) {
	f.Add([]byte("\x00\x11\x00\x00\xfd\xe8\x00\x00\x00\x07\x00\x01\x00\x01\x00\x40\x01\x00\x10"))
	f.Add([]byte("\x00\x0c\x00\x00\xfd\xe8\x00\x00\x00\x07\x00\x01\x00\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, ok, skip := splitVPLS(data)
		if n > len(data) || ok && skip {
			t.Fatalf("%d bytes of %d, %t, %t", n, len(data), ok, skip)
		}
		if !ok {
			return
		}
		nlri, err := bgp.NLRIFromSlice(bgp.RF_VPLS, data[:n])
		if err != nil || nlri.Len() != n {
			t.Fatalf("gobgp reads %v, %v", nlri, err)
		}
	})
}

// FuzzTarget checks that a route target that is read is written in the same form, and gobgp agrees.
func FuzzTarget(f *testing.F) {
	f.Add("65000:1")
	f.Add("192.0.2.1:7")
	f.Fuzz(func(t *testing.T, text string) {
		rt, err := ParseRT(text)
		if err != nil {
			return
		}
		again, err := ParseRT(rt.String())
		if err != nil || again != rt {
			t.Fatalf("%q becomes %s", text, rt)
		}
	})
}
