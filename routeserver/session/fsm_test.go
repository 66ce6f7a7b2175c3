package session_test

import (
	"net"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/petest"
	"weft/routeserver/session"
)

func TestOpenErrors(t *testing.T) {
	r := start(t, session.Config{})
	capabilities := func(c ...bgp.ParameterCapabilityInterface) []bgp.ParameterCapabilityInterface { return c }
	for name, c := range map[string]struct {
		petest.Options
		code, subcode uint8
	}{
		"another AS":         {petest.Options{ASN: 65001}, 2, 2},
		"hold time 2":        {petest.Options{HoldTime: 2}, 2, 6},
		"our own identifier": {petest.Options{ID: "10.0.0.200"}, 2, 3},
		"identifier 0":       {petest.Options{ID: "0.0.0.0"}, 2, 3},
		"no family of ours":  {petest.Options{Families: []bgp.Family{bgp.RF_IPv4_UC}}, 2, 7},
		"AS_TRANS alone":     {petest.Options{ASN: 23456, Capabilities: capabilities(bgp.NewCapMultiProtocol(bgp.RF_EVPN))}, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			c.Local, c.Remote = "127.0.78.11", r.remote
			p := petest.Connect(t, c.Options)
			p.Run()
			if n := p.Closed(); n == nil || n.ErrorCode != c.code || n.ErrorSubcode != c.subcode {
				t.Errorf("ended with %+v", n)
			}
		})
	}
}

func TestFramingAndStateErrors(t *testing.T) {
	r := start(t, session.Config{})
	keepalive := append(bytesOf(0xff, 16), 0, 19, 4)
	for name, c := range map[string]struct {
		established   bool
		send          []byte
		code, subcode uint8
	}{
		"marker":               {false, append(bytesOf(0, 16), 0, 19, 4), 1, 1},
		"length of 5":          {false, append(bytesOf(0xff, 16), 0, 5, 4), 1, 2},
		"type 9":               {false, append(bytesOf(0xff, 16), 0, 19, 9), 1, 3},
		"KEEPALIVE, not OPEN":  {false, keepalive, 5, 1},
		"attributes overrun":   {true, append(bytesOf(0xff, 16), 0, 23, 2, 0, 0, 0, 9), 3, 1},
		"too long, not agreed": {true, append(bytesOf(0xff, 16), 0x20, 0, 2), 1, 2},
		"OPEN again":           {true, append(bytesOf(0xff, 16), 0, 29, 1, 4, 0, 0, 0, 90, 1, 2, 3, 4, 0), 5, 3},
	} {
		t.Run(name, func(t *testing.T) {
			o := petest.Options{Local: "127.0.78.11", Remote: r.remote, Silent: !c.established}
			var p *petest.PE
			if c.established {
				p = petest.Dial(t, o)
			} else {
				p = petest.Connect(t, o)
				p.Run()
			}
			p.Write(c.send)
			if n := p.Closed(); n == nil || n.ErrorCode != c.code || n.ErrorSubcode != c.subcode {
				t.Errorf("ended with %+v", n)
			}
		})
	}
}

func bytesOf(b byte, n int) []byte {
	s := make([]byte, n)
	for i := range s {
		s[i] = b
	}
	return s
}

func TestHoldTimer(t *testing.T) {
	r := start(t, session.Config{})
	p := petest.Dial(t, petest.Options{Local: "127.0.78.11", Remote: r.remote, HoldTime: 3})
	begin := time.Now()
	n := p.Closed()
	if n == nil || n.ErrorCode != 4 {
		t.Errorf("ended with %+v", n)
	}
	if waited := time.Since(begin); waited < 2*time.Second {
		t.Errorf("the hold timer of 3 s ran out after %s", waited)
	}
}

func TestASecondConnectionLosesAgainstAnEstablishedSession(t *testing.T) {
	r := start(t, session.Config{})
	first := r.dial(t, "11")
	second := petest.Connect(t, petest.Options{Local: "127.0.78.11", Remote: r.remote})
	second.Run()
	if n := second.Closed(); n == nil || n.ErrorCode != 6 || n.ErrorSubcode != 7 {
		t.Errorf("ended with %+v", n)
	}
	n := petest.VPLS(t, "65000:1", 1, 1, 64, 4097)
	first.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{n}, []string{"65000:1"}))
	r.dial(t, "12").Has(map[string]string{n.String(): "65000:2"})
}

// TestCollision lets both sides connect at once: the connection that the higher identifier opened is kept.
func TestCollision(t *testing.T) {
	for name, c := range map[string]struct {
		id       string
		incoming bool // the one that the PE opened is kept
	}{"the PE is higher": {"10.0.0.201", true}, "the route server is higher": {"10.0.0.199", false}} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.78.11:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			port := uint16(listener.Addr().(*net.TCPAddr).Port)
			r := start(t, session.Config{Active: true, PeerPort: port, ConnectRetry: time.Second})
			conn, err := listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			o := petest.Options{Local: "127.0.78.11", Remote: r.remote, ID: c.id}
			theirs, ours := petest.Over(t, conn, o), petest.Connect(t, o)
			for _, p := range []*petest.PE{theirs, ours} {
				p.Run()
			}
			lost := theirs
			if !c.incoming {
				lost = ours
			}
			if n := lost.Closed(); n == nil || n.ErrorCode != 6 || n.ErrorSubcode != 7 {
				t.Errorf("ended with %+v", n)
			}
			kept := ours
			if !c.incoming {
				kept = theirs
			}
			kept.Send(bgp.NewBGPKeepAliveMessage())
			kept.Until("the session", func() bool { return r.server.States()["a"].State == session.Established })
		})
	}
}

func TestRouteRefresh(t *testing.T) {
	r := start(t, session.Config{})
	a, b := r.dial(t, "11"), r.dial(t, "12")
	n := petest.VPLS(t, "65000:1", 1, 1, 64, 4097)
	a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{n}, []string{"65000:1"}))
	b.Has(map[string]string{n.String(): "65000:2"})
	before := len(b.Updates())
	b.Send(bgp.NewBGPRouteRefreshMessage(25, 0, 65))
	b.Until("the routes again", func() bool { return len(b.Locked()) > before })
	b.Until("the markers", func() bool { return len(b.RefreshesLocked()) == 2 })
	if k := b.Refreshes(); k[0] != 1 || k[1] != 2 {
		t.Errorf("markers %v", k)
	}
	// The PE's own refresh: what it does not say again between the markers is gone.
	a.Send(bgp.NewBGPRouteRefreshMessage(25, 1, 65))
	a.Send(bgp.NewBGPRouteRefreshMessage(25, 2, 65))
	b.Has(map[string]string{})
}
