// Package petest is a PE for tests: a small BGP speaker over TCP, built on gobgp's codec so that it shares no code with
// the route server.
package petest

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

// PE is a session with a route server, and the routes that came over it.
type PE struct {
	t       testing.TB
	Conn    net.Conn
	Remote  *bgp.BGPOpen
	mu      sync.Mutex
	rib     map[string]string // NLRI text to sorted route targets
	updates []*bgp.BGPUpdate
	ends    int // End-of-RIB markers
	refresh []uint8
	closed  chan struct{}
	coding  *bgp.MarshallingOption
	Last    *bgp.BGPNotification // NOTIFICATION that ended the session, after Closed
}

// Options are the settings of a PE's session; zero values mean the usual settings.
type Options struct {
	Local, Remote string // addresses; Remote with port
	ASN           uint32
	HoldTime      uint16
	ID            string
	Families      []bgp.Family
	Capabilities  []bgp.ParameterCapabilityInterface // in place of the usual ones
	Silent        bool                               // do not send an OPEN
	TwoOctet      bool                               // speak no four-octet AS numbers
}

// Connect opens the TCP connection and sends the OPEN.
func Connect(t testing.TB, o Options) *PE {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(o.Local)}, Timeout: 5 * time.Second}
	conn, err := dialer.Dial("tcp", o.Remote)
	if err != nil {
		t.Fatal(err)
	}
	return Over(t, conn, o)
}

// Over speaks BGP over an existing connection.
func Over(t testing.TB, conn net.Conn, o Options) *PE {
	t.Helper()
	p := &PE{t: t, Conn: conn, rib: map[string]string{}, closed: make(chan struct{}), coding: &bgp.MarshallingOption{Use2ByteAS: o.TwoOctet}}
	t.Cleanup(func() { conn.Close() })
	if !o.Silent {
		p.Send(o.open(t))
	}
	return p
}

func (o Options) open(t testing.TB) *bgp.BGPMessage {
	if o.ASN == 0 {
		o.ASN = 65000
	}
	if o.HoldTime == 0 {
		o.HoldTime = 90
	}
	if o.ID == "" {
		o.ID = o.Local
	}
	if o.Families == nil {
		o.Families = []bgp.Family{bgp.RF_VPLS, bgp.RF_EVPN}
	}
	capabilities := o.Capabilities
	if capabilities == nil {
		for _, f := range o.Families {
			capabilities = append(capabilities, bgp.NewCapMultiProtocol(f))
		}
		capabilities = append(capabilities, bgp.NewCapRouteRefresh(), bgp.NewCapEnhancedRouteRefresh())
		if !o.TwoOctet {
			capabilities = append(capabilities, bgp.NewCapFourOctetASNumber(o.ASN))
		}
	}
	my := uint16(o.ASN)
	if o.ASN > 0xffff {
		my = bgp.AS_TRANS
	}
	m, err := bgp.NewBGPOpenMessage(my, o.HoldTime, netip.MustParseAddr(o.ID),
		[]bgp.OptionParameterInterface{bgp.NewOptionParameterCapability(capabilities)})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Dial opens a session and waits until it is established and the initial routes are here.
func Dial(t testing.TB, o Options) *PE {
	t.Helper()
	p := Connect(t, o)
	p.Handshake()
	families := len(o.Families)
	if families == 0 {
		families = 2
	}
	p.Run()
	p.Until("the End-of-RIB markers", func() bool { return p.ends >= families })
	return p
}

// Handshake reads the OPEN and the first KEEPALIVE, and sends one.
func (p *PE) Handshake() {
	p.t.Helper()
	open, ok := p.Read().Body.(*bgp.BGPOpen)
	if !ok {
		p.t.Fatal("no OPEN came")
	}
	p.Remote = open
	p.Send(bgp.NewBGPKeepAliveMessage())
	if m := p.Read(); m.Header.Type != bgp.BGP_MSG_KEEPALIVE {
		p.t.Fatalf("no KEEPALIVE came, but type %d: %+v", m.Header.Type, m.Body)
	}
}

// Send sends a message.
func (p *PE) Send(m *bgp.BGPMessage) {
	p.t.Helper()
	data, err := m.Serialize(p.coding)
	if err != nil {
		p.t.Fatal(err)
	}
	p.Write(data)
}

// Write sends bytes.
func (p *PE) Write(data []byte) {
	p.t.Helper()
	if _, err := p.Conn.Write(data); err != nil {
		p.t.Fatal(err)
	}
}

// Read reads one message, within five seconds.
func (p *PE) Read() *bgp.BGPMessage {
	p.t.Helper()
	_ = p.Conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	m, err := p.read()
	_ = p.Conn.SetReadDeadline(time.Time{})
	if err != nil {
		p.t.Fatalf("no message: %v", err)
	}
	return m
}

func (p *PE) read() (*bgp.BGPMessage, error) {
	head := make([]byte, bgp.BGP_HEADER_LENGTH)
	if _, err := io.ReadFull(p.Conn, head); err != nil {
		return nil, err
	}
	h := &bgp.BGPHeader{}
	if err := h.DecodeFromBytes(head); err != nil {
		return nil, err
	}
	body := make([]byte, int(h.Len)-len(head))
	if _, err := io.ReadFull(p.Conn, body); err != nil {
		return nil, err
	}
	return bgp.ParseBGPBody(h, body, p.coding)
}

// Run reads messages in the background.
func (p *PE) Run() {
	go func() {
		defer close(p.closed)
		for {
			m, err := p.read()
			if err != nil {
				return
			}
			p.hear(m)
		}
	}()
}

func (p *PE) hear(m *bgp.BGPMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch body := m.Body.(type) {
	case *bgp.BGPNotification:
		p.Last = body
	case *bgp.BGPRouteRefresh:
		p.refresh = append(p.refresh, body.Demarcation)
	case *bgp.BGPUpdate:
		p.updates = append(p.updates, body)
		if end, _ := body.IsEndOfRib(); end {
			p.ends++
			return
		}
		rts := strings.Join(RouteTargets(body), " ")
		for _, a := range body.PathAttributes {
			switch a := a.(type) {
			case *bgp.PathAttributeMpReachNLRI:
				for _, n := range a.Value {
					p.rib[n.NLRI.String()] = rts
				}
			case *bgp.PathAttributeMpUnreachNLRI:
				for _, n := range a.Value {
					delete(p.rib, n.NLRI.String())
				}
			}
		}
	}
}

// RouteTargets lists an UPDATE's route targets, sorted.
func RouteTargets(u *bgp.BGPUpdate) []string {
	var rts []string
	for _, a := range u.PathAttributes {
		if c, ok := a.(*bgp.PathAttributeExtendedCommunities); ok {
			for _, c := range c.Value {
				if kind, sub := c.GetTypes(); sub == bgp.EC_SUBTYPE_ROUTE_TARGET && kind <= 2 {
					rts = append(rts, c.String())
				}
			}
		}
	}
	sort.Strings(rts)
	return rts
}

// Until waits for a condition, which is called with the PE's lock held.
func (p *PE) Until(what string, ok func() bool) {
	p.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		p.mu.Lock()
		done := ok()
		p.mu.Unlock()
		if done {
			return
		}
		if time.Now().After(deadline) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.t.Fatalf("waited in vain for %s; there is %v, last %+v", what, p.rib, p.Last)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// Has waits until the PE has exactly these routes: NLRI text to route targets.
func (p *PE) Has(want map[string]string) {
	p.t.Helper()
	p.Until(fmt.Sprintf("routes %v", want), func() bool {
		if len(want) != len(p.rib) {
			return false
		}
		for k, v := range want {
			if p.rib[k] != v {
				return false
			}
		}
		return true
	})
}

// Closed waits until the session is over, and returns the NOTIFICATION that ended it, or nil.
func (p *PE) Closed() *bgp.BGPNotification {
	p.t.Helper()
	select {
	case <-p.closed:
	case <-time.After(10 * time.Second):
		p.t.Fatal("the session does not end")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Last
}

// Over reports whether the session is over.
func (p *PE) Over() bool {
	select {
	case <-p.closed:
		return true
	default:
		return false
	}
}

// Routes returns the routes that the PE has: NLRI text to route targets.
func (p *PE) Routes() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.rib)
}

// Updates returns the UPDATEs received so far.
func (p *PE) Updates() []*bgp.BGPUpdate {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*bgp.BGPUpdate(nil), p.updates...)
}

// Refreshes returns the kinds of ROUTE-REFRESH messages received so far.
func (p *PE) Refreshes() []uint8 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]uint8(nil), p.refresh...)
}

// Locked returns the UPDATEs, for use within Until.
func (p *PE) Locked() []*bgp.BGPUpdate { return p.updates }

// RefreshesLocked returns the ROUTE-REFRESH kinds, for use within Until.
func (p *PE) RefreshesLocked() []uint8 { return p.refresh }

// Ends returns the number of End-of-RIB markers received so far.
func (p *PE) Ends() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ends
}

// EndsLocked returns the number of End-of-RIB markers, for use within Until.
func (p *PE) EndsLocked() int { return p.ends }
