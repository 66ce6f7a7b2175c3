package wire

import (
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

func TestRestartCapabilities(t *testing.T) {
	r := Restart{Offered: true, Restarting: true, Notification: true, Seconds: 4095, LongLived: true}
	r.Families[VPLS], r.Families[EVPN], r.Forwarding[EVPN] = true, true, true
	r.LongStale[EVPN], r.LongForwarding[EVPN], r.LongStale[Flow4] = MaxLongStale, true, time.Second
	open := Open{ASN: 65000, HoldTime: 90, ID: [4]byte{10, 0, 0, 1}, Restart: r}
	message, err := open.Message()
	if err != nil {
		t.Fatal(err)
	}
	back, err := ParseOpen(message[HeaderLength:])
	if err != nil {
		t.Fatal(err)
	}
	if back.Restart != r {
		t.Errorf("%+v is read as %+v", r, back.Restart)
	}
}

// TestLongLivedCountsOnlyBesideTheOther checks RFC 9494 section 4.5.
func TestLongLivedCountsOnlyBesideTheOther(t *testing.T) {
	tuple := bgp.NewCapLongLivedGracefulRestartTuple(bgp.RF_VPLS, true, 3600)
	capability := bgp.NewCapLongLivedGracefulRestart([]*bgp.CapLongLivedGracefulRestartTuple{tuple})
	encoded, err := capability.Serialize()
	if err != nil {
		t.Fatal(err)
	}
	o := Open{}
	if malformed := o.capability(encoded[0], encoded[2:]); malformed != nil {
		t.Fatal(malformed)
	}
	message, err := (&Open{ASN: 65000, HoldTime: 90, ID: [4]byte{10, 0, 0, 1}}).Message()
	if err != nil {
		t.Fatal(err)
	}
	more, err := bgp.NewOptionParameterCapability([]bgp.ParameterCapabilityInterface{capability}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	message = append(message, more...)
	message[HeaderLength+9] += byte(len(more)) // length of the optional parameters
	back, err := ParseOpen(message[HeaderLength:])
	if err != nil {
		t.Fatal(err)
	}
	if !o.Restart.LongLived || back.Restart != (Restart{}) {
		t.Errorf("read as %+v", back.Restart)
	}
}
