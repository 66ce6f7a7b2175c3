package wire

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// unreach returns the body of an UPDATE that withdraws, reach that of one that announces.
func unreach(f Family, nlris string) []byte {
	value := binary.BigEndian.AppendUint16(nil, f.AFI())
	return updateOf(appendAttribute(nil, flagOptional, attrUnreach, append(append(value, f.SAFI()), nlris...)))
}

func reach(f Family, nlris string) []byte {
	value := append(binary.BigEndian.AppendUint16(nil, f.AFI()), f.SAFI())
	hop := "\xc0\x00\x02\x01"
	if formats[f].hops != nil && formats[f].hops[0] == vpnHop {
		hop = strings.Repeat("\x00", 8) + hop
	}
	value = append(append(append(value, byte(len(hop))), hop...), 0)
	run := appendAttribute(nil, flagOptional, attrReach, append(value, nlris...))
	run = append(run, "\x40\x01\x01\x00\x40\x02\x00\x40\x05\x04\x00\x00\x00\x64\xc0\x10\x08\x00\x02\xfd\xe8\x00\x00\x00\x01"...)
	return updateOf(run)
}

func updateOf(run []byte) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{0, 0}, uint16(len(run))), run...)
}

// keysOf returns the keys of routes.
func keysOf(f Family, nlris []string) (keys []string) {
	for _, n := range nlris {
		keys = append(keys, f.Key(n))
	}
	return keys
}

const vpnRest = "\x00\x00\xfd\xe8\x00\x00\x00\x65\x0a\x01\x00" // RD 65000:101 and 10.1.0.0/24

// TestWithdrawalsByKey checks that a withdrawal applies to the route with its key, whatever the label field is (RFC
// 8277 section 2.4).
func TestWithdrawalsByKey(t *testing.T) {
	announced := "\x70\x00\x06\x41" + vpnRest
	key := VPNv4.Key(announced)
	for name, nlri := range map[string]string{
		"as announced":      announced,
		"withdrawn":         "\x70\x80\x00\x00" + vpnRest,
		"null":              "\x70\x00\x00\x00" + vpnRest,
		"not the last":      "\x70\x00\x06\x40" + vpnRest,
		"traffic class":     "\x70\xff\xff\xf0" + vpnRest,
		"another":           "\x70\x12\x34\x56" + vpnRest,
		"another, the last": "\x70\x12\x34\x57" + vpnRest,
		"two":               "\x88\x00\x06\x40\x00\x06\x51" + vpnRest,
		"three":             "\xa0\x00\x06\x40\x00\x06\x50\x00\x06\x61" + vpnRest,
		"two, a host":       "\x90\x00\x06\x40\x00\x06\x51" + vpnRest + "\x07",
		"host bits":         "\x6f\x00\x06\x41" + vpnRest[:10] + "\x01",
	} {
		u := mustParse(t, unreach(VPNv4, nlri))
		want := key
		switch name {
		case "two, a host":
			want = VPNv4.Key("\x78\x00\x06\x41" + vpnRest + "\x07")
		case "host bits":
			want = VPNv4.Key("\x6f\x00\x06\x41" + vpnRest[:10] + "\x00")
		}
		if keys := keysOf(VPNv4, u.Unreach); u.Malformed != "" || len(keys) != 1 || keys[0] != want {
			t.Errorf("%s: %x, %q", name, keys, u.Malformed)
		}
	}
	// A second label below 48 may be the beginning of a route distinguisher: then both routes are meant.
	u := mustParse(t, unreach(VPNv4, "\x88\x00\x06\x40\x00\x01\x01"+vpnRest))
	if keys := keysOf(VPNv4, u.Unreach); len(keys) != 1 && len(keys) != 2 || keys[len(keys)-1] != key {
		t.Errorf("%x", keys)
	}
}

// TestLabelStacksReplace checks that an announcement with another stack is another version of the route or, if it is
// ambiguous, ends the old version.
func TestLabelStacksReplace(t *testing.T) {
	plain := "\x70\x00\x06\x41" + vpnRest
	u := mustParse(t, reach(VPNv4, "\x70\x00\x06\x40"+vpnRest))
	if u.Malformed != "" || len(u.Reach) != 1 || u.Reach[0] != plain {
		t.Errorf("one label, not marked as the last: %q, %x", u.Malformed, u.Reach)
	}
	for _, stack := range []string{
		"\x88\x00\x06\x40\x00\x06\x51" + vpnRest, "\x88\x00\x06\x40\x00\x00\x21" + vpnRest,
		"\xa0\x00\x06\x40\x00\x06\x50\x00\x06\x61" + vpnRest,
	} {
		u := mustParse(t, reach(VPNv4, stack))
		found := false
		for _, key := range keysOf(VPNv4, u.Reach) {
			found = found || key == VPNv4.Key(plain)
		}
		if u.Malformed == "" || !found {
			t.Errorf("%x: %q, %x", stack, u.Malformed, u.Reach)
		}
	}
}

// multicast returns a route of type 6, 7 or 8 with these flags.
func multicast(kind byte, flags byte) string {
	v := "\x00\x00\xfd\xe8\x00\x00\x00\x07"
	if kind != evpnSelective {
		v += "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09"
	}
	v += "\x00\x00\x00\x00\x00\x20\xe8\x01\x01\x01\x20\xc0\x00\x02\x01"
	if kind == evpnLeaveSynch {
		v += "\x00\x00\x00\x00" + string([]byte{flags ^ 0x5a})
	}
	v += string([]byte{flags})
	return string([]byte{kind, byte(len(v))}) + v
}

// TestOneRouteHasOneKey checks that all forms of one route have one key; for those of the same version, one NLRI is
// stored and sent.
func TestOneRouteHasOneKey(t *testing.T) {
	prefix := func(kind string, last string) string {
		return "\x05\x22\x00\x00\xfd\xe8\x00\x00\x00\x07" + strings.Repeat("\x00", 14) + kind + last + "\x00\x00\x00\x00\x00\x00\x64"
	}
	type pair struct {
		family     Family
		one, other string
		same       bool // version
	}
	pairs := map[string]pair{
		"type 5, host bits":     {EVPN, prefix("\x14", "\x0a\x01\x00\x00"), prefix("\x14", "\x0a\x01\x0f\x07"), true},
		"type 5, any":           {EVPN, prefix("\x00", "\x00\x00\x00\x00"), prefix("\x00", "\x0a\x01\x0f\x07"), true},
		"VPNv4, host bits":      {VPNv4, "\x6c\x00\x06\x41" + vpnRest[:10] + "\x10", "\x6c\x00\x06\x41" + vpnRest[:10] + "\x1f", true},
		"VPNv4, traffic class":  {VPNv4, "\x70\x00\x06\x41" + vpnRest, "\x70\x00\x06\x40" + vpnRest, true},
		"VPNv4, label":          {VPNv4, "\x70\x00\x06\x41" + vpnRest, "\x70\x00\x06\x51" + vpnRest, false},
		"filter, host bits":     {Flow4, "\x04\x01\x09\x0a\x00", "\x04\x01\x09\x0a\x7f", true},
		"filter, first and":     {Flow4, "\x03\x03\x81\x06", "\x03\x03\xc1\x06", true},
		"filter, reserved bits": {Flow4, "\x05\x03\x01\x06\x81\x11", "\x05\x03\x09\x06\x89\x11", true},
		"filter, fragments":     {Flow4, "\x03\x0c\x80\x01", "\x03\x0c\x8c\x01", true},
	}
	for kind := byte(evpnSelective); kind <= evpnLeaveSynch; kind++ {
		pairs[fmt.Sprintf("type %d, flags", kind)] = pair{EVPN, multicast(kind, 1), multicast(kind, 6), false}
	}
	for name, p := range pairs {
		one, other := mustParse(t, reach(p.family, p.one)), mustParse(t, reach(p.family, p.other))
		if len(one.Reach) != 1 || len(other.Reach) != 1 || one.Malformed+other.Malformed != "" {
			t.Errorf("%s: %+v, %+v", name, one, other)
			continue
		}
		if one.Reach[0] != p.one || (one.Reach[0] == other.Reach[0]) != p.same {
			t.Errorf("%s: %x and %x", name, one.Reach, other.Reach)
		}
		if p.family.Key(p.one) != p.family.Key(p.other) || p.family.Key(one.Reach[0]) != p.family.Key(other.Reach[0]) {
			t.Errorf("%s: two keys", name)
		}
	}
	for name, p := range map[string]pair{ // differences that identify routes
		"type 5, length":       {EVPN, prefix("\x14", "\x0a\x01\x00\x00"), prefix("\x15", "\x0a\x01\x00\x00"), false},
		"type 6, group":        {EVPN, multicast(6, 1), strings.Replace(multicast(6, 1), "\xe8\x01", "\xe8\x02", 1), false},
		"type 7, ESI":          {EVPN, multicast(7, 1), strings.Replace(multicast(7, 1), "\x05\x06\x07", "\x05\x06\x08", 1), false},
		"types 7 and 8":        {EVPN, multicast(7, 1), multicast(8, 1), false},
		"filter, second and":   {Flow4, "\x05\x03\x01\x06\x81\x11", "\x05\x03\x01\x06\xc1\x11", false},
		"VPNv4, other network": {VPNv4, "\x70\x00\x06\x41" + vpnRest, "\x70\x00\x06\x41" + vpnRest[:10] + "\x01", false},
	} {
		if p.family.Key(p.one) == p.family.Key(p.other) {
			t.Errorf("%s: one key", name)
		}
	}
}

// TestMulticastRoutesAreChecked checks that inconsistent lengths are refused, since the key depends on them.
func TestMulticastRoutesAreChecked(t *testing.T) {
	for kind := byte(evpnSelective); kind <= evpnLeaveSynch; kind++ {
		whole := multicast(kind, 1)
		for n := 8; n < len(whole)-2; n++ {
			cut := whole[:1] + string([]byte{byte(n)}) + whole[2:2+n]
			if _, ok, skip := splitEVPN([]byte(cut)); ok || skip {
				t.Errorf("type %d with %d bytes is accepted", kind, n)
			}
		}
		if _, ok, _ := splitEVPN([]byte(whole)); !ok {
			t.Errorf("%x is not accepted", whole)
		}
		if zeros := whole[:2] + strings.Repeat("\x00", len(whole)-2); validEVPN(kind, []byte(zeros[2:])) {
			t.Errorf("zeros are accepted as type %d", kind)
		}
	}
}
