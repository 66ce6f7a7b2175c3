package poisons

import (
	"encoding/binary"
	"net/netip"
	"testing"
)

var site = Site{
	RD: [8]byte{0, 0, 0xfd, 0xe8, 0, 0, 0, 7}, RT: [8]byte{0, 2, 0xfd, 0xe8, 0, 0, 0, 7},
	Hop: netip.MustParseAddr("192.0.2.9"), Hop6: netip.MustParseAddr("2001:db8::9"),
}

// TestPoisonsAreToldApart checks that each poison has its own name and route, so that tests can tell which one does harm.
func TestPoisonsAreToldApart(t *testing.T) {
	for _, family := range []string{VPLS, EVPN, VPNv4, VPNv6} {
		names, routes := map[string]bool{}, map[string]string{}
		for _, p := range append(In(family, site), Healthy(family, site)) {
			if names[p.Name] {
				t.Errorf("%s: two are called %q", family, p.Name)
			}
			if other := routes[string(p.NLRI)]; other != "" {
				t.Errorf("%s: %q and %q are one route", family, p.Name, other)
			}
			names[p.Name], routes[string(p.NLRI)] = true, p.Name
			if len(p.Hurts) > 0 && p.Fate != Relayed {
				t.Errorf("%s: %q hurts and is not relayed", family, p.Name)
			}
		}
		if len(names) < 100 {
			t.Errorf("%s: %d poisons", family, len(names))
		}
	}
}

// TestMessagesAreWhole checks the lengths of the messages: a fault is in an attribute or an NLRI, never in what holds them.
func TestMessagesAreWhole(t *testing.T) {
	for _, p := range In(EVPN, site) {
		for _, m := range [][]byte{p.Announcement, p.Withdrawal} {
			if len(m) > 4096 || int(binary.BigEndian.Uint16(m[16:])) != len(m) || int(binary.BigEndian.Uint16(m[21:]))+23 != len(m) {
				t.Errorf("%q: lengths of %x", p.Name, m)
			}
		}
	}
}
