package session_test

import (
	"net"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/session"
)

// flood announces the same 45 routes again and again with other attributes until stop returns true, or for more rounds than any
// socket buffer holds. It waits for witness now and then: otherwise most would be superseded before they are written.
func flood(t *testing.T, p, witness *petest.PE, stop func() bool) {
	t.Helper()
	var list []bgp.NLRI
	for i := range uint16(45) {
		list = append(list, petest.VPLS(t, "65000:1", 1, 1+64*i, 64, 4097))
	}
	for round := range 50_000 {
		p.Send(petest.Announcement(t, bgp.RF_VPLS, list, []string{"65000:1"}, bgp.NewPathAttributeMultiExitDisc(uint32(round))))
		if round%20 == 19 {
			witness.Until("the last round", func() bool { return lastMED(witness) == round })
			if stop() {
				return
			}
		}
	}
	t.Fatal("all of it was taken")
}

func TestAPeerThatReadsNothingHoldsUpNobodyAndIsDropped(t *testing.T) {
	r := start(t, session.Config{SendHold: 4 * time.Second})
	a, b := r.dial(t, "11"), r.dial(t, "12")
	// c joins the pool, sends an OPEN, and then reads nothing.
	c := petest.Connect(t, petest.Options{Local: "127.0.78.13", Remote: r.remote})
	if err := c.Conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	c.Handshake()
	b.Until("the session of c", func() bool { return r.server.States()["c"].State == session.Established })
	r.change(t, ruleset.Operation{Op: ruleset.Join, Pool: "pool", Member: "lan-c"})
	// A backlog that outlasts some rounds is permanent: c's socket takes nothing more.
	waiting := 0
	flood(t, a, b, func() bool {
		n := r.server.States()["c"].Backlog
		if n > 5000 {
			t.Fatalf("%d routes wait for c", n)
		}
		if waiting++; n == 0 {
			waiting = 0
		}
		return waiting == 10
	})
	begin := time.Now()
	receipt := r.change(t, ruleset.Operation{Op: ruleset.Leave, Pool: "pool", Member: "lan-a"})
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("the change took %s", took)
	}
	for _, p := range receipt.Peers {
		if p.Withdrawn != 45 || (p.WrittenMicros == nil) != (p.Peer == "c") {
			t.Errorf("receipt %+v", p)
		}
	}
	b.Has(map[string]string{})
	b.Until("the end of c", func() bool { return r.server.States()["c"].State != session.Established })
}

// lastMED returns the MULTI_EXIT_DISC of the last UPDATE, or -1. It is for use within Until.
func lastMED(p *petest.PE) int {
	updates := p.Locked()
	for _, attribute := range updates[len(updates)-1].PathAttributes {
		if med, ok := attribute.(*bgp.PathAttributeMultiExitDisc); ok {
			return int(med.Value)
		}
	}
	return -1
}
