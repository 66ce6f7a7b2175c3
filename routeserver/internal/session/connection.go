package session

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// openWait is the time within which a peer must send its OPEN ("a large value", RFC 4271 section 8.2.2).
const openWait = 4 * time.Minute

// maxConnections is the largest number of simultaneous connections of one peer.
const maxConnections = 8

// connection is the state machine of one TCP connection, from OpenSent on.
type connection struct {
	server   *Server
	slot     *slot
	peer     ruleset.Peer
	conn     net.Conn
	outgoing bool
	offered  [wire.Families]bool // in our OPEN
	remote   *wire.Open
	opening  engine.Opening
	hold     time.Duration // negotiated; 0: no keepalives

	mu       sync.Mutex
	declined [wire.Families]bool // families that the peer wants but was not offered
	state    string
	closing  error        // reason why we end it
	cut      bool         // it ends before the peer has been sent everything
	rekeyed  bool         // it is now signed with another password than at its start
	peering  *engine.Peer // once established
	began    time.Time
	up       time.Time     // time at which it was established
	over     chan struct{} // closed at its end
}

// errReplaced ends a session without a NOTIFICATION.
var errReplaced = errors.New("the peer, which restarts gracefully or has another key, has opened a new connection")

func newConnection(s *Server, slot *slot, peer ruleset.Peer, conn net.Conn, outgoing bool) *connection {
	c := &connection{server: s, slot: slot, peer: peer, conn: conn, outgoing: outgoing, state: OpenSent, began: time.Now(), over: make(chan struct{})}
	slot.add(c)
	return c
}

func (c *connection) now() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

func (c *connection) enter(state string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = state
	if state == Established {
		c.up = time.Now()
	}
}

// lasted returns the time for which the session was established.
func (c *connection) lasted() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.up.IsZero() {
		return 0
	}
	return time.Since(c.up)
}

func (c *connection) attached() *engine.Peer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peering
}

// stop ends the connection from any goroutine: with a NOTIFICATION if the reason is one.
func (c *connection) stop(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing == nil {
		c.closing = why
		_ = c.conn.SetReadDeadline(time.Unix(1, 0)) // wakes the reader
	}
}

// lastWords is the time in which to read a NOTIFICATION that explains why writing to a connection fails.
const lastWords = 100 * time.Millisecond

// fail ends the connection because writing to it fails. If the peer has closed it, its NOTIFICATION may still be readable.
func (c *connection) fail(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing != nil || errors.As(why, new(*wire.Notification)) {
		c.conn.Close()
	} else {
		_ = c.conn.SetReadDeadline(time.Now().Add(lastWords))
	}
	if c.closing == nil {
		c.closing = why
	}
}

// replaceable reports whether a new connection from the peer means that this session is dead: either the peer restarts
// gracefully and opened the new one after this session was established (RFC 4724 section 5), or it has changed to
// another password and ended its side; we did not get that end, since it was not signed with that password.
func (c *connection) replaceable(by *connection) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	restarts := c.server.RestartTime > 0 && c.remote.Restart.Offered
	return (restarts || c.rekeyed) && !by.outgoing && by.began.After(c.up)
}

func (c *connection) stopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closing != nil
}

// expect limits the wait for the next message, unless the connection is ending.
func (c *connection) expect(within time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing != nil {
		return
	}
	if within == 0 {
		_ = c.conn.SetReadDeadline(time.Time{})
	} else {
		_ = c.conn.SetReadDeadline(time.Now().Add(within))
	}
}

// run takes the connection from OpenSent to its end.
func (c *connection) run() {
	defer c.conn.Close()
	err := c.converse()
	why := c.reason(err)
	var n *wire.Notification
	if errors.As(why, &n) && !n.Received {
		_ = c.conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = c.conn.Write(n.Message())
	}
	c.slot.remove(c, why)
	close(c.over)
	c.server.log.Info("BGP connection ended", "peer", c.peer.Name, "state", c.now(), "reason", why)
}

// reason returns the reason for the end of the connection, from the error that ended it.
func (c *connection) reason(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var n *wire.Notification
	switch {
	case errors.As(c.closing, &n):
		return c.harden(n)
	case errors.As(err, &n) && n.Received:
		return n
	case c.closing != nil:
		return cause(c.closing)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &wire.Notification{Code: wire.HoldTimerExpired}
	case errors.Is(err, io.EOF):
		return errors.New("the peer closed the connection")
	}
	if errors.As(err, &n) {
		return c.harden(n)
	}
	return cause(err)
}

// soft reports whether both sides keep routes also after a NOTIFICATION that is not a hard reset (RFC 8538).
func (c *connection) soft() bool {
	return c.server.RestartTime > 0 && c.remote != nil && c.remote.Restart.Notification
}

// harden turns a NOTIFICATION that we send into a hard reset if the peer must not keep our routes and supports hard resets.
func (c *connection) harden(n *wire.Notification) *wire.Notification {
	if !n.Received && c.soft() && (n.Final() || c.cut) {
		return n.Harden()
	}
	return n
}

func (c *connection) converse() error {
	s := c.server
	ours := &wire.Open{ASN: s.engine.ASN, HoldTime: uint16(s.HoldTime / time.Second), ID: s.engine.RouterID}
	c.offered = s.engine.Set().Useful(c.peer.Name)
	ours.Families = c.offered
	if s.RestartTime > 0 {
		// A route server forwards no packets, so its restart never interrupts forwarding.
		ours.Restart = wire.Restart{
			Offered: true, Restarting: s.engine.Restarting(), Notification: true, Seconds: uint16(s.RestartTime / time.Second),
			Families: ours.Families, Forwarding: ours.Families, LongForwarding: ours.Families,
		}
		ours.Restart.LongLived, ours.Restart.LongStale = s.engine.LongStale(ours.Families)
	}
	open, err := ours.Message()
	if err != nil {
		return err
	}
	c.opening = engine.Opening{Local: end(c.conn.LocalAddr()), Remote: end(c.conn.RemoteAddr()), Sent: open, Unread: unread(c.conn)}
	if _, err := c.conn.Write(open); err != nil {
		return err
	}
	r := bufio.NewReader(c.conn)
	var buf []byte
	if err := c.receiveOpen(r, &buf); err != nil {
		return err
	}
	old, n := c.slot.confirm(c, c.preferred())
	if n != nil {
		return n
	}
	if old != nil {
		<-old.over
	}
	if _, err := c.conn.Write(wire.Keepalive); err != nil {
		return err
	}
	if err := c.receiveKeepalive(r, &buf); err != nil {
		return err
	}
	if !c.slot.establish(c) {
		return &wire.Notification{Code: wire.Cease, Subcode: wire.Collision}
	}
	return c.established(r, &buf)
}

// end returns one end of a connection. An IPv4 address stays one, also on a socket for both protocols.
func end(a net.Addr) netip.AddrPort {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(tcp.AddrPort().Addr().Unmap().WithZone(""), uint16(tcp.Port))
}

// preferred reports whether, of two connections with the peer, the one that we opened is kept: if our BGP identifier is
// the higher one, or if both are equal and our AS number is higher (RFC 4271 section 6.8, RFC 6286 section 2.3).
func (c *connection) preferred() bool {
	e := c.server.engine
	return cmp.Or(bytes.Compare(e.RouterID[:], c.remote.ID[:]), cmp.Compare(e.ASN, c.remote.ASN)) > 0
}

func (c *connection) receiveOpen(r io.Reader, buf *[]byte) error {
	c.expect(openWait)
	kind, body, err := wire.ReadMessage(r, buf)
	if err != nil {
		return err
	}
	switch kind {
	case wire.TypeOpen:
		c.opening.Received = wire.Whole(kind, body)
	case wire.TypeNotification:
		return wire.ParseNotification(body)
	default:
		return &wire.Notification{Code: wire.FSMError, Subcode: wire.UnexpectedOpen, Data: []byte{kind}, Text: "no OPEN"}
	}
	if c.remote, err = wire.ParseOpen(body); err != nil {
		return err
	}
	return c.negotiate()
}

func (c *connection) receiveKeepalive(r io.Reader, buf *[]byte) error {
	c.expect(cmp.Or(c.hold, openWait)) // without a hold timer it would wait for ever
	kind, body, err := wire.ReadMessage(r, buf)
	switch {
	case err != nil:
		return err
	case kind == wire.TypeKeepalive:
		return nil
	case kind == wire.TypeNotification:
		return wire.ParseNotification(body)
	}
	return &wire.Notification{Code: wire.FSMError, Subcode: wire.UnexpectedConfirm, Data: []byte{kind}, Text: "no KEEPALIVE"}
}

// negotiate checks the peer's OPEN (RFC 4271 section 6.2, RFC 5492, RFC 6286).
func (c *connection) negotiate() error {
	o, e := c.remote, c.server.engine
	common := c.agree()
	bad := func(subcode uint8, data []byte, text string) error {
		return &wire.Notification{Code: wire.OpenError, Subcode: subcode, Data: data, Text: text}
	}
	switch {
	case o.ASN != c.peer.ASN:
		return bad(wire.BadPeerAS, nil, fmt.Sprintf("the peer's AS number is %d, but %d in the rule set", o.ASN, c.peer.ASN))
	case o.HoldTime == 1 || o.HoldTime == 2:
		return bad(wire.BadHoldTime, nil, "hold time of less than 3 s")
	case o.ID == [4]byte{} || o.ID == e.RouterID && o.ASN == e.ASN: // unique within an AS (RFC 6286)
		return bad(wire.BadIdentifier, nil, "BGP identifier is zero or our own")
	case !common:
		var data []byte
		for f := range wire.Families {
			if c.offered[f] {
				data = append(data, 1, 4, byte(f.AFI()>>8), byte(f.AFI()), 0, f.SAFI())
			}
		}
		return bad(wire.BadCapability, data, "no family in common")
	case c.outgrown(e.Set()): // the rule set has changed since our OPEN
		return outgrown()
	}
	c.hold = min(c.server.HoldTime, time.Duration(o.HoldTime)*time.Second)
	return nil
}
