package wire

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/poisons"
)

var poisoned = poisons.Site{
	RD: [8]byte{0, 0, 0xfd, 0xe8, 0, 0, 0, 7}, RT: [8]byte{0, 2, 0xfd, 0xe8, 0, 0, 0, 7},
	Hop: netip.MustParseAddr("192.0.2.9"), Hop6: netip.MustParseAddr("2001:db8::9"),
}

// TestPoisons checks that each poison of the corpus has its fate, and that the route sent on is well-formed to us and gobgp.
func TestPoisons(t *testing.T) {
	for _, family := range []string{poisons.VPLS, poisons.EVPN, poisons.VPNv4, poisons.VPNv6} {
		for _, p := range append(poisons.In(family, poisoned), poisons.Healthy(family, poisoned)) {
			t.Run(family+"/"+p.Name, func(t *testing.T) {
				u, err := ParseUpdate(p.Announcement[HeaderLength:], 65000)
				if err != nil {
					t.Fatalf("the announcer's session ends: %v", err)
				}
				if fate := fateOf(u, p); fate != p.Fate {
					t.Errorf("%s, not %s: %q %v, NLRIs %x, attributes %x", fate, p.Fate, u.Malformed, u.Discarded, u.Reach, u.Attributes.Path)
				}
				if u.Malformed == "" && len(u.Reach) > 0 {
					settled(t, u, reflectionOf(65000), !gobgpReads(u))
				}
			})
		}
	}
}

func fateOf(u *Update, p poisons.Poison) poisons.Fate {
	switch {
	case u.Malformed != "" || len(u.Reach) == 0:
		return poisons.Withdrawn
	case strings.Contains(u.Attributes.Path, string(p.Attributes)) && u.Reach[0] == string(p.NLRI) && u.Attributes.Communities == string(p.Communities):
		return poisons.Relayed
	}
	return poisons.Mended
}

// settled checks the messages for recipients of all kinds: gobgp accepts them, and reading and writing them again
// changes nothing. foreign says that gobgp does not support all parts.
func settled(t *testing.T, u *Update, r Reflection, foreign bool) {
	t.Helper()
	for _, k := range []Kind{{}, {External: true}, {TwoOctet: true}, {External: true, TwoOctet: true}} {
		all, ends, _ := u.Attributes.AppendAnnouncements(nil, u.ReachFamily, u.Reach, r, k, 1, MaxExtended)
		for _, m := range finished(all, ends, "\x00\x02\xfd\xe8\x00\x00\x00\x01") {
			if _, err := bgp.ParseBGPMessage(m, &bgp.MarshallingOption{Use2ByteAS: k.TwoOctet}); err != nil && !foreign {
				t.Fatalf("gobgp cannot read what %+v gets: %v: %x", k, err, m)
			}
			reader := Neighbour{ASN: 65000, Own: 65000, TwoOctet: k.TwoOctet}
			if k.External {
				reader.Own = 65002
			}
			again, err := reader.ParseUpdate(m[HeaderLength:])
			if err != nil || again.Malformed != "" || len(again.Discarded) > 0 || again.Ignored > 0 {
				t.Fatalf("what %+v gets is not well formed: %v, %+v: %x", k, err, again, m)
			}
			twice, _, _ := again.Attributes.AppendAnnouncements(nil, again.ReachFamily, again.Reach, Reflection{}, Kind{TwoOctet: k.TwoOctet}, 1, MaxExtended)
			if want := m[:len(m)-8]; !k.TwoOctet && string(twice) != string(want) {
				t.Fatalf("what %+v gets is not what would be written: %x, %x", k, want, twice)
			}
		}
	}
}
