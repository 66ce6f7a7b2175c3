package petest

import (
	"bufio"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"github.com/osrg/gobgp/v4/pkg/packet/bmp"
)

// Monitored is a collector's knowledge of a peer. Routes map NLRI text to sorted route targets.
type Monitored struct {
	Label           string
	Up              *bmp.BMPPeerUpNotification // nil: down
	Down            *bmp.BMPPeerDownNotification
	Header          bmp.BMPPeerHeader // of the last message
	In, Out         map[string]string
	EndsIn, EndsOut int
	Stats           map[uint16]uint64                       // by type
	FamilyStats     map[uint16]map[bgp.Family]uint64        // by type
	Attributes      map[string][]bgp.PathAttributeInterface // of Adj-RIB-In, by NLRI text
}

// Collector is a BMP station for tests, built on gobgp's codec.
type Collector struct {
	t          testing.TB
	mu         sync.Mutex
	peers      map[string]*Monitored // by address
	Init       map[uint16]string     // by type of information
	Terminated bool
	Sessions   int // Initiations
	listener   net.Listener
	conns      []net.Conn
	closed     bool
}

// NewCollector makes a collector without a connection.
func NewCollector(t testing.TB) *Collector {
	return &Collector{t: t, peers: map[string]*Monitored{}, Init: map[uint16]string{}}
}

// Listen accepts stations' connections at an address, until Close or the end of the test.
func (c *Collector) Listen(address string) string {
	c.t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		c.t.Fatal(err)
	}
	c.listener = listener
	c.t.Cleanup(c.Close)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			c.mu.Lock()
			c.conns = append(c.conns, conn)
			if c.closed {
				conn.Close()
			}
			c.mu.Unlock()
			go c.read(conn)
		}
	}()
	return listener.Addr().String()
}

// Close hangs up and stops listening.
func (c *Collector) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.listener.Close()
	for _, conn := range c.conns {
		conn.Close()
	}
}

func (c *Collector) read(conn net.Conn) {
	scanner := bufio.NewScanner(conn)
	scanner.Buffer(nil, 1<<20)
	scanner.Split(bmp.SplitBMP)
	for scanner.Scan() {
		c.Hear(scanner.Bytes())
	}
}

// Hear parses messages.
func (c *Collector) Hear(data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(data) > 0 {
		n, one, err := bmp.SplitBMP(data, true)
		if err != nil || n == 0 {
			c.t.Errorf("%d bytes of BMP are no message: %v", len(data), err)
			return
		}
		m, err := bmp.ParseBMPMessage(one)
		if err != nil {
			c.t.Errorf("gobgp cannot read %x: %v", one, err)
			return
		}
		c.hear(m)
		data = data[n:]
	}
}

func (c *Collector) hear(m *bmp.BMPMessage) {
	switch body := m.Body.(type) {
	case *bmp.BMPInitiation:
		c.peers = map[string]*Monitored{}
		c.Sessions++
		for _, tlv := range body.Info {
			if s, ok := tlv.(*bmp.BMPInfoTLVString); ok {
				c.Init[s.Type] = s.Value
			}
		}
		return
	case *bmp.BMPTermination:
		c.Terminated = true
		return
	}
	address := m.PeerHeader.PeerAddress.String()
	p := c.peers[address]
	if up, ok := m.Body.(*bmp.BMPPeerUpNotification); ok {
		p = &Monitored{
			Up: up, Header: m.PeerHeader, In: map[string]string{}, Out: map[string]string{}, Stats: map[uint16]uint64{},
			FamilyStats: map[uint16]map[bgp.Family]uint64{}, Attributes: map[string][]bgp.PathAttributeInterface{},
		}
		for _, tlv := range up.Info {
			if u, ok := tlv.(*bmp.BMPInfoTLVUnknown); ok && u.Type == 4 {
				p.Label = string(u.Value)
			} else if s, ok := tlv.(*bmp.BMPInfoTLVString); ok {
				p.Label = s.Value
			}
		}
		c.peers[address] = p
		return
	}
	if p == nil || p.Up == nil {
		c.t.Errorf("a message of type %d about %s, which is not up", m.Header.Type, address)
		return
	}
	p.Header = m.PeerHeader
	switch body := m.Body.(type) {
	case *bmp.BMPPeerDownNotification:
		c.peers[address] = &Monitored{Down: body, Header: m.PeerHeader}
	case *bmp.BMPStatisticsReport:
		if int(body.Count) != len(body.Stats) {
			c.t.Errorf("%d statistics of %d", len(body.Stats), body.Count)
		}
		p.statistics(body)
	case *bmp.BMPRouteMonitoring:
		if m.PeerHeader.IsAdjRIBOut() != m.PeerHeader.IsPostPolicy() {
			c.t.Errorf("Adj-RIB-In is to be pre-policy and Adj-RIB-Out post-policy: flags %#x", m.PeerHeader.Flags)
		}
		p.routes(body.BGPUpdate.Body.(*bgp.BGPUpdate), m.PeerHeader.IsAdjRIBOut())
	default:
		c.t.Errorf("unexpected message type %d", m.Header.Type)
	}
}

func (p *Monitored) statistics(report *bmp.BMPStatisticsReport) {
	for _, s := range report.Stats {
		switch s := s.(type) {
		case *bmp.BMPStatsTLV32:
			p.Stats[s.Type] = uint64(s.Value)
		case *bmp.BMPStatsTLV64:
			p.Stats[s.Type] = s.Value
		case *bmp.BMPStatsTLVPerAfiSafi64:
			if p.FamilyStats[s.Type] == nil {
				p.FamilyStats[s.Type] = map[bgp.Family]uint64{}
			}
			p.FamilyStats[s.Type][bgp.NewFamily(s.AFI, s.SAFI)] = s.Value
		}
	}
}

func (p *Monitored) routes(u *bgp.BGPUpdate, outward bool) {
	rib, ends := p.In, &p.EndsIn
	if outward {
		rib, ends = p.Out, &p.EndsOut
	}
	if end, _ := u.IsEndOfRib(); end {
		*ends++
		return
	}
	rts := strings.Join(RouteTargets(u), " ")
	for _, a := range u.PathAttributes {
		switch a := a.(type) {
		case *bgp.PathAttributeMpReachNLRI:
			for _, n := range a.Value {
				rib[n.NLRI.String()] = rts
				if !outward {
					p.Attributes[n.NLRI.String()] = u.PathAttributes
				}
			}
		case *bgp.PathAttributeMpUnreachNLRI:
			for _, n := range a.Value {
				delete(rib, n.NLRI.String())
			}
		}
	}
}

// Peer returns a copy of the knowledge of a peer; it is empty if the peer was never up.
func (c *Collector) Peer(address string) Monitored {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.peers[address]
	if p == nil {
		return Monitored{}
	}
	seen := *p
	seen.In, seen.Out, seen.Stats = maps.Clone(p.In), maps.Clone(p.Out), maps.Clone(p.Stats)
	seen.FamilyStats, seen.Attributes = maps.Clone(p.FamilyStats), maps.Clone(p.Attributes)
	return seen
}

// Up lists the addresses of the peers with a session, sorted.
func (c *Collector) Up() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var up []string
	for address, p := range c.peers {
		if p.Up != nil {
			up = append(up, address)
		}
	}
	slices.Sort(up)
	return up
}

// Ended reports whether a Termination came, and how many connections began with an Initiation.
func (c *Collector) Ended() (terminated bool, sessions int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Terminated, c.Sessions
}

// Until waits for a condition about a peer.
func (c *Collector) Until(what, address string, ok func(Monitored) bool) Monitored {
	c.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		p := c.Peer(address)
		if ok(p) {
			return p
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("waited in vain for %s; of %s there is in %v, out %v", what, address, p.In, p.Out)
		}
	}
}
