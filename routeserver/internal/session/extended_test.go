package session_test

import (
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/rawbgp"
	"weft/routeserver/internal/session"
)

// TestExtendedMessagesOfPlainPEs checks that a PE without the capability for extended messages may send them up to the
// full length, since our OPEN has it, but is sent none (RFC 8654 section 4).
func TestExtendedMessagesOfPlainPEs(t *testing.T) {
	for _, length := range []int{4159, 65535} {
		r := start(t, session.Config{})
		a, plain := r.dial(t, "11"), r.dial(t, "12")
		n := petest.VPLS(t, "65000:1", 1, 1, 64, 4097)
		m, err := petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{n}, []string{"65000:1"}).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		attributes := append([]byte(nil), m[23:]...)
		attributes = append(attributes, rawbgp.Attribute(0xc0, 200, make([]byte, length-len(m)-4))...)
		long := rawbgp.Update(attributes)
		if len(long) != length {
			t.Fatalf("the UPDATE has %d bytes", len(long))
		}
		a.Write(long)
		r.until(t, "the route", func() bool { return r.Counters().Announced == 1 })
		small := petest.VPLS(t, "65000:1", 2, 1, 64, 8193)
		a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{small}, []string{"65000:1"}))
		plain.Has(map[string]string{small.String(): "65000:2"})
		if a.Over() || plain.Over() {
			t.Errorf("a session is over: %+v, %+v", a.Last, plain.Last)
		}
		r.stop()
	}
}
