package wire

import (
	"strings"
	"testing"
)

// TestRoom checks that an NLRI as long as Room fits into a message, and one byte more does not.
func TestRoom(t *testing.T) {
	path := "\x40\x01\x01\x00\x40\x02\x06\x02\x01\x00\x00\xfd\xe8\x40\x05\x04\x00\x00\x00\x64"
	for _, reflection := range []Reflection{{Originator: "\x0a\x00\x00\x01", Cluster: "\x0a\x00\x00\xfe", ASN: 65000}, {ASN: 65000}} {
		for _, kind := range []Kind{{}, {External: true}, {TwoOctet: true}, {External: true, TwoOctet: true}} {
			for _, limit := range []int{MaxLength, MaxExtended} {
				for _, targets := range []int{1, 31, 32, 200} {
					for fill := range 60 {
						filler := strings.Repeat("\x00\x00\x00\x01", (limit-8*targets-900)/4+5*fill)
						if len(filler) > 0xffff {
							break
						}
						a := &Attributes{
							NextHop: "\x0a\x00\x00\x01", Communities: "\x03\x0c\x00\x00\x00\x00\x00\x08",
							Path: path + string(appendAttribute(nil, flagOptional|flagTransitive, attrCommunities, []byte(filler))),
						}
						room := a.Room(Flow4, reflection, kind, targets, limit)
						for _, n := range []int{room, room + 1} {
							if n < 1 || n > longest[Flow4] {
								continue
							}
							_, _, skipped := a.AppendAnnouncements(nil, Flow4, []string{strings.Repeat("x", n)}, reflection, kind, targets, limit)
							if (len(skipped) == 0) != (n <= room) {
								t.Fatalf("%+v to %+v, %d targets, %d bytes of communities: there is room for %d bytes, %d skipped with %d", reflection, kind, targets, len(filler), room, len(skipped), n)
							}
						}
					}
				}
			}
		}
	}
}
