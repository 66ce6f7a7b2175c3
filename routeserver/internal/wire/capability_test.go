package wire

import (
	"bytes"
	"errors"
	"testing"
)

// withCapability returns an OPEN with EVPN, four-octet AS numbers, and one more capability.
func withCapability(code byte, value []byte) []byte {
	parameter := bytes.Join([][]byte{evpn, {65, 4, 0, 0, 0xfd, 0xe8}, {code, byte(len(value))}, value}, nil)
	if len(parameter) < 254 {
		return openBody(4, append([]byte{byte(2 + len(parameter)), 2, byte(len(parameter))}, parameter...)...)
	}
	total := len(parameter) + 3 // RFC 9072
	return openBody(4, append([]byte{255, 255, byte(total >> 8), byte(total), 2, byte(len(parameter) >> 8), byte(len(parameter))}, parameter...)...)
}

// TestEveryCapability checks that a foreign capability has no effect, whatever its value; a malformed one of ours
// either ends the session with an OPEN error or has no effect either.
func TestEveryCapability(t *testing.T) {
	plain, err := ParseOpen(openBody(4, append([]byte{14, 2, 12}, append(evpn, 65, 4, 0, 0, 0xfd, 0xe8)...)...))
	if err != nil {
		t.Fatal(err)
	}
	used := map[int]bool{capMultiprotocol: true, capRefresh: true, capExtended: true, capRestart: true, capFourOctetAS: true, capEnhanced: true, capLongLived: true}
	for code := range 256 {
		for _, n := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 92, 127, 255} {
			for _, fill := range []byte{0, 1, 2, byte(n), byte(n - 1), 'v', 0xff} {
				o, err := ParseOpen(withCapability(byte(code), bytes.Repeat([]byte{fill}, n)))
				var refused *Notification
				switch {
				case errors.As(err, &refused):
					if (code != capMultiprotocol && code != capFourOctetAS) || n == 4 || refused.Code != OpenError || refused.Subcode != 0 {
						t.Errorf("capability %d of %d bytes %#02x: %v", code, n, fill, err)
					}
				case err != nil:
					t.Errorf("capability %d of %d bytes %#02x: %v", code, n, fill, err)
				case !used[code] && *o != *plain:
					t.Errorf("capability %d of %d bytes %#02x makes %+v of %+v", code, n, fill, o, plain)
				case !o.Families[EVPN] || !o.FourOctet:
					t.Errorf("capability %d of %d bytes %#02x takes something away: %+v", code, n, fill, o)
				}
			}
		}
	}
}

// TestForeignCapabilities tries faulty capabilities of other implementations: software versions, extended next hops,
// ADD-PATH and FQDN without their content.
func TestForeignCapabilities(t *testing.T) {
	for _, c := range [][]byte{
		append([]byte{75, 91, 90}, bytes.Repeat([]byte("v"), 90)...), {75, 1, 0}, {75, 0}, {5, 0}, {69, 0}, {73, 0}, {73, 2, 9, 'a'}, {5, 1, 0}, {69, 3, 0, 1, 1},
	} {
		if _, err := ParseOpen(withCapability(c[0], c[2:])); err != nil {
			t.Errorf("%x: %v", c, err)
		}
	}
}

// TestMalformedOffers checks that a malformed offer is ignored.
func TestMalformedOffers(t *testing.T) {
	for code, bad := range map[byte][]byte{capRefresh: {0}, capExtended: {0}, capEnhanced: {0}, capRestart: {0}, capLongLived: {0, 25, 70}} {
		o, err := ParseOpen(withCapability(code, bad))
		if err != nil || o.Refresh || o.Extended || o.Enhanced || o.Restart != (Restart{}) {
			t.Errorf("capability %d: %+v, %v", code, o, err)
		}
	}
	o, err := ParseOpen(withCapability(capRestart, []byte{0xc0, 120, 0, 25, 70, 0x80, 0, 1, 1}))
	if err != nil || o.Restart.Offered {
		t.Errorf("half a family: %+v, %v", o, err)
	}
}
