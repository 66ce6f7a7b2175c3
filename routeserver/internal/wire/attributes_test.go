package wire

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestAnyAttribute checks that with any value and flags of any attribute type the session goes on, except for an
// unknown well-known attribute, and the route that is sent on is well-formed to us and to gobgp.
func TestAnyAttribute(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	base := without(t, attrExtCommunities)
	accepted := map[int]int{}
	for kind := range 256 {
		if kind == attrReach || kind == attrUnreach || kind == attrOrigin || kind == attrASPath || kind == attrLocalPref {
			continue // already in the message
		}
		for i := range 300 {
			flags := []uint8{0xc0, 0x80, 0xe0, 0xcf, byte(random.UintN(256)) | flagOptional}[i%5] &^ flagExtended
			body := appendAttribute(append([]byte(nil), base...), flags|byte(i)&0x0f, uint8(kind), anyValue(random))
			body[2], body[3] = byte((len(body)-4)>>8), byte(len(body)-4)
			u, err := ParseUpdate(body, 65000)
			if err != nil {
				t.Fatalf("attribute %d: the session ends: %v: %x", kind, err, body)
			}
			if u.Malformed == "" {
				accepted[kind]++
				settled(t, u, reflectionOf(65000), !gobgpReads(u))
			}
		}
	}
	for _, kind := range []int{attrPMSI, attrTunnelEncap, attrPrefixSID, attrDomainPath, attrCommunities, 200} {
		if accepted[kind] == 0 {
			t.Errorf("no attribute %d was accepted", kind)
		}
	}
}

// anyValue returns a value that often resembles the parts of attributes: types, lengths and nested values.
func anyValue(random *rand.Rand) (v []byte) {
	switch random.UintN(4) {
	case 0: // numbers only
		for range random.UintN(30) {
			v = append(v, byte(random.UintN(256)))
		}
		return v
	case 1: // small numbers
		for range random.UintN(30) {
			v = append(v, byte(random.UintN(9)))
		}
		return v
	}
	for range 1 + random.UintN(3) {
		value := make([]byte, random.UintN(25))
		if random.UintN(2) == 0 {
			value = anyValue(random)
		}
		wide := random.UintN(2) == 0
		if wide {
			v = append(v, 0)
		}
		v = append(v, byte(random.UintN(16)))
		if random.UintN(2) == 0 {
			v = append(v, byte(len(value)>>8))
		}
		v = append(append(v, byte(len(value))), value...)
	}
	return v
}

func TestLegalFlags(t *testing.T) {
	for kind, want := range map[uint8]string{
		attrAtomicAggregate: "\x40\x06\x00", attrMED: "\x80\x04\x04\x00\x00\x00\x01", attrCommunities: "\xe0\x08\x04\x00\x00\x00\x01", 200: "\xe0\xc8\x04\x00\x00\x00\x01",
	} {
		value := []byte{0, 0, 0, 1}
		if kind == attrAtomicAggregate {
			value = nil
		}
		body := without(t, attrExtCommunities)
		body = append(body, uint8(want[0])|0x3f, kind, 0, byte(len(value)))
		body = append(body, value...)
		body[2], body[3] = byte((len(body)-4)>>8), byte(len(body)-4)
		if u := mustParse(t, body); u.Malformed != "" || !strings.HasSuffix(u.Attributes.Path, want) {
			t.Errorf("attribute %d goes on as %x (%s), not %x", kind, u.Attributes.Path, u.Malformed, want)
		}
	}
}

func TestDistinct(t *testing.T) {
	many := ""
	for i := range 40 {
		many += string(rune('a'+i%20)) + "xxx"
	}
	for list, want := range map[string]string{
		"": "", "aaaa": "aaaa", "aaaabbbb": "aaaabbbb", "aaaaaaaa": "aaaa", "aaaabbbbaaaacccc": "aaaabbbbcccc", many: many[:80], many + "yyyyyyyy": many[:80] + "yyyy",
	} {
		if have := string(distinct([]byte(list), 4)); have != want {
			t.Errorf("%s becomes %s", list, have)
		}
	}
	list := []byte(strings.Repeat("abcd", 3))
	if distinct(list, 4); string(list) != strings.Repeat("abcd", 3) {
		t.Error("the list itself was changed")
	}
}

// TestDistinctAllocatesNothing checks that distinct allocates nothing for a short list without repetitions.
func TestDistinctAllocatesNothing(t *testing.T) {
	list := []byte("aaaabbbbccccdddd")
	if n := testing.AllocsPerRun(100, func() { distinct(list, 4) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
