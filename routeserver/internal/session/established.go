package session

import (
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/wire"
)

// established runs the established session: this goroutine reads, another one writes.
func (c *connection) established(r io.Reader, buf *[]byte) error {
	s := c.server
	p := s.engine.Establish(c.peer, c.remote, c.opening)
	if p == nil {
		return wire.Shutdown(wire.Deconfigured, "this peer is not configured any more")
	}
	c.mu.Lock()
	c.peering = p
	c.mu.Unlock()
	s.log.Info("BGP session established", "peer", c.peer.Name, "address", c.peer.Address)
	stop, written := make(chan struct{}), make(chan error, 1)
	go func() {
		err := c.write(p, stop)
		if err != nil {
			c.fail(err) // wakes the reader; a message may be half written
		}
		written <- err
	}()
	err := c.read(r, buf, p)
	why := c.reason(err)
	p.Ending.Local = errors.Is(why, errReplaced)
	c.part(p, why)
	close(stop)
	// The writer may be in the middle of a message to a peer that reads nothing.
	_ = c.conn.SetWriteDeadline(time.Now().Add(time.Second))
	if failed := <-written; failed != nil && !received(err) {
		return failed
	}
	return err
}

// received reports whether a session ended with the peer's NOTIFICATION.
func received(why error) bool {
	n := (*wire.Notification)(nil)
	return errors.As(why, &n) && n.Received
}

// flushWait is the time for which a session that ends softly goes on writing its queue.
const flushWait = time.Second

// part tells the engine how the session ended. It counts as lost, and graceful restart covers it, if the connection
// broke, if a new one replaced it, or if both sides treat the NOTIFICATION so. But a peer that keeps our routes must
// have been sent every withdrawal before; otherwise it is told to drop them.
func (c *connection) part(p *engine.Peer, why error) {
	e := c.server.engine
	n := (*wire.Notification)(nil)
	if !errors.As(why, &n) {
		e.Lose(p, why.Error())
		return
	}
	p.Ending.Notification = n
	if !c.soft() || n.Hard {
		e.Down(p, why.Error())
		return
	}
	if !n.Received {
		written := make(chan bool, 1)
		p.Queue.OnWritten(func(ok bool) { written <- ok })
		select {
		case <-written:
		case <-time.After(flushWait):
		}
	}
	if complete := e.Lose(p, why.Error()); !complete {
		c.mu.Lock()
		c.cut = true
		c.mu.Unlock()
	}
}

func (c *connection) read(r io.Reader, buf *[]byte, p *engine.Peer) error {
	from := c.server.engine.Neighbour(c.peer, c.remote)
	for {
		c.expect(c.hold)
		kind, body, err := wire.ReadMessage(r, buf)
		if err != nil {
			return err
		}
		switch kind {
		case wire.TypeKeepalive:
		case wire.TypeUpdate:
			u, err := from.ParseUpdate(body)
			if err != nil {
				return err
			}
			if err := c.server.engine.Update(p, u); err != nil {
				return err
			}
		case wire.TypeRefresh:
			f, kind, ok, err := wire.ParseRefresh(body)
			if err != nil {
				return err
			}
			if ok {
				c.server.engine.Refresh(p, f, kind, c.remote.Enhanced)
			}
		case wire.TypeNotification:
			return wire.ParseNotification(body)
		default:
			return &wire.Notification{Code: wire.FSMError, Subcode: wire.UnexpectedUp, Data: []byte{kind}, Text: "OPEN in an established session"}
		}
		if cap(*buf) > wire.MaxLength {
			*buf = nil // a rare long message; not every peer should keep so much memory
		}
	}
}

// write empties the queue into the socket and sends keepalives. It ends without an error when stop is closed.
func (c *connection) write(p *engine.Peer, stop <-chan struct{}) error {
	var keepalive <-chan time.Time
	if c.hold > 0 {
		// A third of the hold time, with jitter (RFC 4271 section 10).
		every := time.Duration(float64(c.hold/3) * (0.75 + 0.25*rand.Float64()))
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		keepalive = ticker.C
	}
	for {
		select {
		case <-stop:
			return nil
		case <-keepalive:
			if err := c.send(func() error { _, err := c.conn.Write(wire.Keepalive); return err }); err != nil {
				return err
			}
		case <-p.Queue.Wake():
			if err := c.drain(p, stop, keepalive); err != nil {
				return err
			}
		}
	}
}

func (c *connection) drain(p *engine.Peer, stop <-chan struct{}, keepalive <-chan time.Time) error {
	for {
		taken, more := p.Queue.Take(c.remote.Extended)
		if !more {
			return nil
		}
		for _, nlri := range taken.Skipped {
			c.server.log.Warn("a route does not fit into a message and is not sent", "peer", c.peer.Name, "nlri", nlri)
		}
		if err := c.send(func() error { _, err := taken.Buffers.WriteTo(c.conn); return err }); err != nil {
			return err
		}
		p.Queue.Written(taken)
		select {
		case <-stop:
			return nil
		case <-keepalive:
			if err := c.send(func() error { _, err := c.conn.Write(wire.Keepalive); return err }); err != nil {
				return err
			}
		default:
		}
	}
}

// send writes with a time limit for a peer that reads nothing.
func (c *connection) send(write func() error) error {
	if c.stopped() {
		return write()
	}
	_ = c.conn.SetWriteDeadline(time.Now().Add(c.server.SendHold))
	err := write()
	if isTimeout(err) && !c.stopped() {
		return &wire.Notification{Code: wire.SendHoldExpired}
	}
	return err
}
