package session_test

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/session"
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

// TestErrors sends a faulty message in each state, and compares the whole NOTIFICATION (RFC 4271 sections 6.1 to 6.6,
// RFC 6608).
func TestErrors(t *testing.T) {
	r := start(t, session.Config{})
	marker := string(bytesOf(0xff, 16))
	keepalive, refresh := marker+"\x00\x13\x04", marker+"\x00\x17\x05\x00\x19\x00\x46"
	update, open := marker+"\x00\x17\x02\x00\x00\x00\x00", marker+"\x00\x1d\x01\x04\xfd\xe8\x00\x5a\x01\x02\x03\x04\x00"
	for name, c := range map[string]struct {
		in            string // state
		send          string
		code, subcode uint8
		data          string
	}{
		"marker":                {session.OpenSent, string(bytesOf(0, 16)) + "\x00\x13\x04", 1, 1, ""},
		"length of 5":           {session.OpenSent, marker + "\x00\x05\x04", 1, 2, "\x00\x05"},
		"short OPEN":            {session.OpenSent, marker + "\x00\x1c\x01", 1, 2, "\x00\x1c"},
		"long KEEPALIVE":        {session.OpenConfirm, marker + "\x00\x14\x04", 1, 2, "\x00\x14"},
		"short UPDATE":          {session.Established, marker + "\x00\x16\x02", 1, 2, "\x00\x16"},
		"short NOTIFICATION":    {session.Established, marker + "\x00\x14\x03", 1, 2, "\x00\x14"},
		"OPEN of 4,097 bytes":   {session.OpenSent, marker + "\x10\x01\x01", 1, 2, "\x10\x01"}, // RFC 8654 section 4
		"another of 4,097":      {session.Established, marker + "\x10\x01\x01", 1, 2, "\x10\x01"},
		"very long KEEPALIVE":   {session.Established, marker + "\x10\x01\x04", 1, 2, "\x10\x01"},
		"type 9":                {session.OpenSent, marker + "\x00\x13\x09", 1, 3, "\x09"},
		"type 0":                {session.Established, marker + "\x00\x13\x00", 1, 3, "\x00"},
		"version 3":             {session.OpenSent, strings.Replace(open, "\x01\x04", "\x01\x03", 1), 2, 1, "\x00\x04"},
		"a parameter of type 1": {session.OpenSent, marker + "\x00\x20\x01\x04\xfd\xe8\x00\x5a\x01\x02\x03\x04\x03\x01\x01\x00", 2, 4, ""},
		"parameters overrun":    {session.OpenSent, marker + "\x00\x1d\x01\x04\xfd\xe8\x00\x5a\x01\x02\x03\x04\x09", 2, 0, ""},
		"attributes overrun":    {session.Established, marker + "\x00\x17\x02\x00\x00\x00\x09", 3, 1, ""},
		"KEEPALIVE, not OPEN":   {session.OpenSent, keepalive, 5, 1, "\x04"},
		"UPDATE, not OPEN":      {session.OpenSent, update, 5, 1, "\x02"},
		"UPDATE too early":      {session.OpenConfirm, update, 5, 2, "\x02"},
		"refresh too early":     {session.OpenConfirm, refresh, 5, 2, "\x05"},
		"OPEN twice":            {session.OpenConfirm, open, 5, 2, "\x01"},
		"OPEN again":            {session.Established, open, 5, 3, "\x01"},
	} {
		t.Run(name, func(t *testing.T) {
			o := petest.Options{Local: "127.0.78.11", Remote: r.remote, Silent: c.in == session.OpenSent}
			var p *petest.PE
			if c.in == session.Established {
				p = petest.Dial(t, o)
			} else {
				p = petest.Connect(t, o)
				p.Run()
			}
			p.Write([]byte(c.send))
			if n := p.Closed(); n == nil || n.ErrorCode != c.code || n.ErrorSubcode != c.subcode || string(n.Data) != c.data {
				t.Errorf("ended with %+v", n)
			}
		})
	}
}

// TestNotificationsAreNotAnswered ends a connection with a NOTIFICATION in each state (RFC 4271 section 6.4).
func TestNotificationsAreNotAnswered(t *testing.T) {
	r := start(t, session.Config{})
	cease := bgp.NewBGPNotificationMessage(bgp.BGP_ERROR_CEASE, bgp.BGP_ERROR_SUB_OUT_OF_RESOURCES, nil)
	for _, silent := range []bool{true, false} {
		p := petest.Connect(t, petest.Options{Local: "127.0.78.11", Remote: r.remote, Silent: silent})
		p.Run()
		p.Send(cease)
		if n := p.Closed(); n != nil {
			t.Errorf("answered with %+v", n)
		}
	}
	p := r.dial(t, "11")
	p.Send(cease)
	if n := p.Closed(); n != nil {
		t.Errorf("answered with %+v", n)
	}
	r.until(t, "the reason", func() bool { return strings.Contains(r.server.States()["a"].LastError, "received: 6/8") })
}

// TestHoldTimeZero checks a session without keepalives and without a hold timer (RFC 4271 section 4.2).
func TestHoldTimeZero(t *testing.T) {
	r := start(t, session.Config{HoldTime: 3 * time.Second})
	var zero, three *petest.PE
	for p, hold := range map[**petest.PE]func([]byte) []byte{
		&zero:  func(open []byte) []byte { open[22], open[23] = 0, 0; return open },
		&three: func(open []byte) []byte { return open },
	} {
		host := map[bool]string{true: "127.0.78.11", false: "127.0.78.12"}[p == &zero]
		*p = petest.Connect(t, petest.Options{Local: host, Remote: r.remote, Silent: true})
		(*p).Write(hold(openOf(t, host)))
		(*p).Handshake()
		(*p).Run()
	}
	if n := three.Closed(); n == nil || n.ErrorCode != 4 { // a hold timer of zero's session would have expired too
		t.Errorf("ended with %+v", n)
	}
	if s := r.server.States()["a"]; s.State != session.Established {
		t.Errorf("the session without a hold time is %+v", s)
	}
	n := petest.VPLS(t, "65000:1", 1, 1, 64, 4097)
	zero.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{n}, []string{"65000:1"}))
	r.dial(t, "12").Has(map[string]string{n.String(): "65000:2"})
}

func openOf(t *testing.T, id string) []byte {
	t.Helper()
	capabilities := []bgp.ParameterCapabilityInterface{bgp.NewCapMultiProtocol(bgp.RF_VPLS), bgp.NewCapFourOctetASNumber(65000)}
	m, err := bgp.NewBGPOpenMessage(65000, 90, netip.MustParseAddr(id), []bgp.OptionParameterInterface{bgp.NewOptionParameterCapability(capabilities)})
	if err != nil {
		t.Fatal(err)
	}
	data, err := m.Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestAPeerThatErrsHasToWait(t *testing.T) {
	r := start(t, session.Config{IdleHold: time.Hour})
	p := petest.Connect(t, petest.Options{Local: "127.0.78.11", Remote: r.remote, HoldTime: 2})
	p.Run()
	if n := p.Closed(); n == nil || n.ErrorCode != 2 {
		t.Errorf("ended with %+v", n)
	}
	r.until(t, "idle", func() bool { return r.server.States()["a"].State == session.Idle })
	p = petest.Connect(t, petest.Options{Local: "127.0.78.11", Remote: r.remote, Silent: true})
	p.Run()
	if n := p.Closed(); n == nil || n.ErrorCode != 6 || n.ErrorSubcode != 5 {
		t.Errorf("ended with %+v", n)
	}
	r.dial(t, "12") // other PEs do not have to wait
	a := ruleset.Peer{Name: "a", Address: "127.0.78.14", ASN: 65000}
	r.change(t, ruleset.Operation{Op: ruleset.SetPeer, Peer: &a}) // the rule set may have been the cause
	r.dial(t, "14")
}

func TestConnectionsOfOnePeerAreBounded(t *testing.T) {
	r := start(t, session.Config{})
	a := r.dial(t, "11")
	var silent []*petest.PE
	for range 12 {
		p := petest.Connect(t, petest.Options{Local: "127.0.78.11", Remote: r.remote, Silent: true})
		p.Run()
		silent = append(silent, p)
	}
	for _, p := range silent[:5] { // the oldest ones beyond eight
		if n := p.Closed(); n == nil || n.ErrorCode != 6 || n.ErrorSubcode != 5 {
			t.Errorf("ended with %+v", n)
		}
	}
	if s := r.server.States()["a"]; s.State != session.Established {
		t.Errorf("the session is %+v", s)
	}
	a.Send(bgp.NewBGPKeepAliveMessage())
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
		asn      uint32
		incoming bool // the connection that the PE opened is kept
	}{
		"the PE is higher": {"10.0.0.201", 65000, true}, "the route server is higher": {"10.0.0.199", 65000, false},
		// RFC 6286 section 2.3
		"the same identifier, the PE's AS is higher": {"10.0.0.200", 65001, true}, "the same identifier, ours is higher": {"10.0.0.200", 64999, false},
	} {
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
			if c.asn != 65000 {
				r.change(t, ruleset.Operation{Op: ruleset.SetPeer, Peer: &ruleset.Peer{Name: "a", Address: "127.0.78.11", ASN: c.asn}})
				conn.Close() // it was opened for another AS number
				if conn, err = listener.Accept(); err != nil {
					t.Fatal(err)
				}
			}
			o := petest.Options{Local: "127.0.78.11", Remote: r.remote, ID: c.id, ASN: c.asn}
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
	// The PE's own refresh: a route that it does not repeat between the markers is gone.
	a.Send(bgp.NewBGPRouteRefreshMessage(25, 1, 65))
	a.Send(bgp.NewBGPRouteRefreshMessage(25, 2, 65))
	b.Has(map[string]string{})
}
