package session_test

import (
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/wire"
)

// storm is a faulty PE: it connects again and again, and sends all kinds of wrong messages.
type storm struct {
	t           *testing.T
	r           *rand.Rand
	remote      string
	hello       []byte // OPEN and KEEPALIVE
	update      []byte
	hanging     []net.Conn
	established int
	ready       func() // called before each connection of rage, if not nil
}

// blows are its messages in place of a session.
var blows = []func(s *storm) [][]byte{
	func(s *storm) [][]byte { return nil },
	func(s *storm) [][]byte { return [][]byte{s.garbage(400)} },
	func(s *storm) [][]byte { return [][]byte{s.hello[:s.r.IntN(40)]} }, // half an OPEN
	func(s *storm) [][]byte { return [][]byte{s.hello, s.hello} },
	func(s *storm) [][]byte { return [][]byte{s.oversized()} },
}

// deeds are its messages in a session.
var deeds = []func(s *storm) [][]byte{
	func(s *storm) [][]byte { return [][]byte{s.update[:30]} }, // half an UPDATE
	func(s *storm) [][]byte { return [][]byte{s.oversized()} },
	func(s *storm) [][]byte { return [][]byte{s.hello} },                        // a second OPEN
	func(s *storm) [][]byte { return [][]byte{s.update, s.broken()} },           // inconsistent lengths
	func(s *storm) [][]byte { return slices.Repeat([][]byte{s.spoilt()}, 200) }, // treated as withdrawals
	func(s *storm) [][]byte { return slices.Repeat([][]byte{s.update, s.spoilt()}, 100) },
	func(s *storm) [][]byte { return s.flood(500) },
	func(s *storm) [][]byte {
		return slices.Repeat([][]byte{wire.Refresh(wire.VPLS, wire.RefreshRequest)}, 500)
	},
	func(s *storm) [][]byte { return [][]byte{s.announcement(60, 0)} }, // more than the limit
	func(s *storm) [][]byte { return [][]byte{s.update, s.garbage(40_000)} },
	func(s *storm) [][]byte {
		return [][]byte{s.update, (&wire.Notification{Code: wire.Cease, Subcode: wire.AdminReset}).Message()}
	},
}

func newStorm(t *testing.T, remote string, seed uint64) *storm {
	o := wire.Open{ASN: 65000, HoldTime: 90, ID: [4]byte{127, 0, 78, 13}, Families: [wire.Families]bool{true, true}}
	hello, err := o.Message()
	if err != nil {
		t.Fatal(err)
	}
	s := &storm{t: t, r: rand.New(rand.NewPCG(seed, 1)), remote: remote, hello: append(hello, wire.Keepalive...)}
	s.update = s.announcement(30, 0)
	return s
}

// announcement returns a message with routes of c's endpoint.
func (s *storm) announcement(n uint16, med uint32) []byte {
	var list []bgp.NLRI
	for i := range n {
		list = append(list, petest.VPLS(s.t, "65000:3", 1, 1+64*i, 64, 4097))
	}
	m, err := petest.Announcement(s.t, bgp.RF_VPLS, list, []string{"65000:3"}, bgp.NewPathAttributeMultiExitDisc(med)).Serialize()
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

// send writes as much as the route server reads.
func (s *storm) send(c net.Conn, parts ...[]byte) {
	_ = c.SetWriteDeadline(time.Now().Add(5 * time.Second))
	for _, p := range parts {
		_, _ = c.Write(p)
	}
}

func (s *storm) garbage(n int) []byte {
	data := make([]byte, s.r.IntN(n))
	for i := range data {
		data[i] = byte(s.r.Uint32())
	}
	return data
}

func (s *storm) oversized() []byte {
	m := append([]byte(strings.Repeat("\xff", 16)), 0xff, 0xff, wire.TypeUpdate)
	return append(m, make([]byte, 66_000)...)
}

func (s *storm) broken() []byte {
	m := append([]byte(nil), s.update...)
	m[wire.HeaderLength+2] = 0xff // of all attributes
	return m
}

func (s *storm) spoilt() []byte {
	m := append([]byte(nil), s.update...)
	m[strings.Index(string(m), "\x40\x01\x01\x00")+3] = 9 // ORIGIN
	return m
}

// flood returns announcements of the same routes with other attributes each time.
func (s *storm) flood(n uint32) (messages [][]byte) {
	for med := range n {
		messages = append(messages, s.announcement(30, med))
	}
	return messages
}

func (s *storm) dial() net.Conn {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.78.13")}, Timeout: 5 * time.Second}
	c, err := dialer.Dial("tcp", s.remote)
	if err != nil {
		s.t.Errorf("the route server does not take a connection any more: %v", err)
		return nil
	}
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	return c
}

// knock opens n connections that never become a session, and closes none before the end.
func (s *storm) knock(n int) {
	for i := range n {
		c := s.dial()
		if c == nil {
			return
		}
		s.send(c, blows[i%len(blows)](s)...)
		s.hanging = append(s.hanging, c)
	}
	for _, c := range s.hanging {
		c.Close()
	}
}

// rage opens n sessions, one after the other, and ends them in good order or by closing the connection.
func (s *storm) rage(n int) {
	for i := range n {
		if s.ready != nil {
			s.ready()
		}
		c := s.dial()
		if c == nil {
			return
		}
		s.send(c, s.hello)
		var buf []byte
		kind := uint8(0)
		for kind != wire.TypeKeepalive && kind != wire.TypeNotification { // a refusal, since the session before is not over yet
			var err error
			if kind, _, err = wire.ReadMessage(c, &buf); err != nil {
				break
			}
		}
		if kind == wire.TypeKeepalive {
			s.established++
			s.send(c, deeds[s.established%len(deeds)](s)...)
		}
		if i%3 > 0 {
			_ = c.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, c)
		}
		c.Close()
	}
}
