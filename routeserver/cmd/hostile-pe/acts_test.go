package main

import (
	"encoding/binary"
	"testing"
)

// TestMessagesAreWhole checks that all messages except garbage are well-formed, so that the route server judges their
// content.
func TestMessagesAreWhole(t *testing.T) {
	s, err := site("10.255.0.5", "0000fde800001002", "0002fde800001002")
	if err != nil {
		t.Fatal(err)
	}
	p := &pe{asn: 65000, macs: 512, site: s}
	for name, m := range map[string][]byte{
		"OPEN": p.open(true), "announcement": p.mac(511, nil), "large": p.mac(1, make([]byte, large)), "withdrawal": p.withdrawal(1),
	} {
		if int(binary.BigEndian.Uint16(m[16:])) != len(m) {
			t.Errorf("%s: length %d of %d octets", name, binary.BigEndian.Uint16(m[16:]), len(m))
		}
	}
	if string(p.nlri(1)) == string(p.nlri(2)) || len(p.nlri(1)) != 2+int(p.nlri(1)[1]) {
		t.Errorf("NLRIs %x and %x", p.nlri(1), p.nlri(2))
	}
}

func TestSiteRefusesWhatIsNoRouteTarget(t *testing.T) {
	if _, err := site("10.255.0.5", "0000fde800001002", "65000:1"); err == nil {
		t.Error("65000:1 is not hex")
	}
}
