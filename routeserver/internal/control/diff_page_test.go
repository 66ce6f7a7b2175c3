package control_test

import (
	"encoding/binary"
	"testing"

	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/rawbgp"
)

// TestAComparisonIsBoundedInEachOfItsLists checks that a reply has the first routes of each list, and their number: all
// routes that a PE may announce can be too long for another PE's messages.
func TestAComparisonIsBoundedInEachOfItsLists(t *testing.T) {
	h := build(t)
	h.must("PUT", "/v1/ruleset", rules, &struct{}{})
	a := petest.Dial(t, petest.Options{Local: "127.0.77.11", Remote: h.bgp})
	petest.Dial(t, petest.Options{Local: "127.0.77.12", Remote: h.bgp})
	var values []byte
	for i := range uint32(1003) {
		values = binary.BigEndian.AppendUint32(values, i+1)
	}
	communities := rawbgp.Attribute(0xc0, 8, values) // ORIGINATOR_ID and CLUSTER_LIST make the message too long
	const routes = 1200
	for i := range uint16(routes) {
		nlri := []byte{0, 17, 0, 0, 0xfd, 0xe8, 0, 0, 0, 1, 0, 1, byte(i >> 8), byte(i), 0, 1, 1, 0, 0x10}
		reach := append([]byte{0, 25, 65, 4, 192, 0, 2, 9, 0}, nlri...)
		a.Write(rawbgp.Update(rawbgp.Attribute(0x40, 1, []byte{0}), rawbgp.Attribute(0x40, 2, nil), rawbgp.Attribute(0x40, 5, []byte{0, 0, 0, 100}),
			communities, rawbgp.Attribute(0x80, 14, reach), rawbgp.Attribute(0xc0, 16, []byte{0, 2, 0xfd, 0xe8, 0, 0, 0, 1})))
	}
	a.Until("all routes", func() bool { return h.engine.PeerViews()[0].In == routes })
	var d struct {
		Peer                        string
		Differences, Held, Withheld []struct{ Reason string }
		Counts                      map[string]int
		Truncated                   bool
	}
	h.must("GET", "/v1/diff?peer=b", "", &d)
	if d.Peer != "b" || len(d.Differences) != 0 || d.Held == nil || len(d.Withheld) != 1000 || d.Withheld[0].Reason != "message-size" {
		t.Errorf("of %q: %d, %v and %d items", d.Peer, len(d.Differences), d.Held, len(d.Withheld))
	}
	if d.Counts["differences"] != 0 || d.Counts["held"] != 0 || d.Counts["withheld"] != routes || !d.Truncated {
		t.Errorf("counts %v, truncated: %v", d.Counts, d.Truncated)
	}
	h.must("GET", "/v1/diff?peer=a", "", &d)
	if d.Truncated || len(d.Withheld) != 0 {
		t.Errorf("of a, too: %+v", d)
	}
}
