// Package session maintains the BGP sessions with the PEs: the finite state machine of RFC 4271, its timers,
// capabilities, collision detection and NOTIFICATIONs.
//
// Every TCP connection runs its own state machine in its own goroutine; the connections of a peer share a slot.
package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// Config is the configuration of sessions. Times of zero mean the defaults.
type Config struct {
	Listen       netip.AddrPort
	Active       bool          // also connect to the peers
	PeerPort     uint16        // destination port, if active
	HoldTime     time.Duration // offered; the shorter one of both sides counts
	ConnectRetry time.Duration
	IdleHold     time.Duration // wait of a peer after an error, doubled with each in a row; 0: no wait
	ConnectRate  float64       // connections per second that a peer may open, and ten times that at once; 0: any number
	SendHold     time.Duration // longest time in which a peer reads nothing (RFC 9687)
	Keys         Keys          // of neighbours that must sign their segments; Rekey changes them
	Told         Keys          // the same, from the controller; Tell changes them; for a neighbour in both, Keys count
	ToldFile     string        // file that keeps those for the next start; empty: none
	ShutdownText string        // for the operators at the other ends, when the server stops (RFC 9003)
	Hops         int           // largest distance of neighbours (GTSM, RFC 5082), unless the rule set gives one; 0: any distance
	RestartTime  time.Duration // offered for graceful restart (RFC 4724); zero: none, on either side
	Deferral     time.Duration // longest time for which End-of-RIB waits for the peers' after our own restart
}

// Server accepts and, if configured so, opens connections.
type Server struct {
	Config
	engine *engine.Engine
	log    *slog.Logger

	mu       sync.Mutex
	listener net.Listener   // while the server serves
	filed    Keys           // from the password file; Keys are all keys in force
	hops     map[string]int // largest distances of peers for which the rule set gives one
	slots    map[string]*slot
	dialing  map[string]context.CancelFunc
	serving  bool
	stopping bool
	conns    sync.WaitGroup
}

// New makes a server that does not serve yet.
func New(c Config, e *engine.Engine, log *slog.Logger) *Server {
	if c.HoldTime == 0 {
		c.HoldTime = 90 * time.Second
	}
	if c.ConnectRetry == 0 {
		c.ConnectRetry = 30 * time.Second
	}
	if c.SendHold == 0 {
		c.SendHold = max(2*c.HoldTime, 60*time.Second)
	}
	if c.PeerPort == 0 {
		c.PeerPort = 179
	}
	if c.ShutdownText == "" {
		c.ShutdownText = "the route server stops"
	}
	filed := c.Keys
	c.Keys = merged(c.Told, filed)
	return &Server{Config: c, filed: filed, engine: e, log: log, slots: map[string]*slot{}, dialing: map[string]context.CancelFunc{}}
}

// Probe checks that the BGP address can be bound, without serving on it.
func (s *Server) Probe() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.bind()
	if err != nil {
		return err
	}
	return l.Close()
}

// bind requires the lock.
func (s *Server) bind() (net.Listener, error) {
	l, err := s.listenConfig(s.Keys).Listen(context.Background(), "tcp", s.Listen.String())
	if err != nil {
		return nil, fmt.Errorf("the BGP address %s cannot be bound: %w", s.Listen, cause(err))
	}
	return l, nil
}

// cause returns the innermost error, which gives the reason most briefly.
func cause(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

// Serve accepts connections until the context ends, then closes all sessions with a Cease. It may be called again.
func (s *Server) Serve(ctx context.Context) error {
	s.mu.Lock()
	listener, err := s.bind()
	if err == nil {
		s.listener, s.serving, s.stopping = listener, true, false
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if s.RestartTime > 0 {
		s.engine.Defer(s.Deferral)
	} else {
		s.engine.Defer(0)
	}
	set := s.engine.Set()
	s.Reconcile(set, set.Peers())
	s.mu.Lock()
	s.keepAway()
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer stop()
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			s.log.Warn("a connection could not be accepted", "error", err)
			time.Sleep(50 * time.Millisecond) // out of files, most likely
			continue
		}
		s.accepted(conn)
	}
	s.shutdown()
	return nil
}

// Serving reports whether connections are accepted.
func (s *Server) Serving() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.serving && !s.stopping
}

func (s *Server) accepted(conn net.Conn) {
	remote := conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
	peer, known := s.engine.PeerAt(remote)
	if !known {
		s.log.Info("connection from an address that is no peer's", "address", remote)
		reject(conn)
		return
	}
	s.mu.Lock()
	slot := s.slot(peer.Name)
	idle, paced := slot.idle(), slot.pace.Allow()
	s.mu.Unlock()
	if !paced {
		s.engine.Events.AddOften("connections", peer.Name, "", fmt.Sprintf("%s opens more than %g connections per second: the others are refused", peer.Name, s.ConnectRate))
		reject(conn)
		return
	}
	if idle {
		s.log.Debug("a peer comes again too soon after an error", "peer", peer.Name)
		reject(conn)
		return
	}
	if hops := s.hopsOf(peer); hops > 0 {
		if err := nearBy(conn, hops); err != nil {
			s.log.Info("a connection does not keep to the distance of its peer", "peer", peer.Name, "reason", err)
			conn.Close()
			return
		}
	}
	s.start(peer, conn, false)
}

func reject(conn net.Conn) {
	n := &wire.Notification{Code: wire.Cease, Subcode: wire.Rejected}
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = conn.Write(n.Message())
	conn.Close()
}

// start runs a connection in a goroutine of its own.
func (s *Server) start(peer ruleset.Peer, conn net.Conn, outgoing bool) *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		conn.Close()
		return nil
	}
	c := newConnection(s, s.slot(peer.Name), peer, conn, outgoing)
	s.conns.Add(1)
	go func() {
		defer s.conns.Done()
		c.run()
	}()
	return c
}

// slot requires the lock.
func (s *Server) slot(name string) *slot {
	if s.slots[name] == nil {
		s.slots[name] = newSlot(s.ConnectRate)
	}
	return s.slots[name]
}

// Reconcile ends the sessions of peers that are gone or have moved, and connects to new ones if active. It gets every
// new rule set, and the names of the peers to check.
func (s *Server) Reconcile(set *ruleset.Set, peers []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	farther := false
	for _, name := range peers {
		peer, stays := set.Peer(name)
		farther = s.measure(name, peer) || farther
		if slot := s.slots[name]; slot != nil {
			slot.closeUnless(func(c *connection) bool { return stays && c.peer == peer },
				wire.Shutdown(wire.Deconfigured, "this peer is not configured any more"))
			slot.closeUnless(func(c *connection) bool { return !c.outgrown(set) }, outgrown())
			slot.forgive()
		}
		if !stays {
			delete(s.slots, name)
		}
		s.attend(name, stays)
	}
	if farther {
		s.keepAway()
	}
}

// attend starts or stops connecting to a peer, if the server is active. It requires the lock.
func (s *Server) attend(name string, wanted bool) {
	cancel := s.dialing[name]
	switch {
	case !s.Active || !s.serving || s.stopping:
	case !wanted && cancel != nil:
		cancel()
		delete(s.dialing, name)
	case wanted && cancel == nil:
		ctx, cancel := context.WithCancel(context.Background())
		s.dialing[name] = cancel
		go s.dial(ctx, name)
	}
}

func (s *Server) shutdown() {
	s.mu.Lock()
	s.listener, s.stopping = nil, true
	for name, cancel := range s.dialing {
		cancel()
		delete(s.dialing, name)
	}
	for _, slot := range s.slots {
		slot.closeUnless(func(*connection) bool { return false }, wire.Shutdown(wire.AdminShutdown, s.ShutdownText))
	}
	s.mu.Unlock()
	s.conns.Wait()
}

// States returns the state of every peer.
func (s *Server) States() map[string]State {
	s.mu.Lock()
	defer s.mu.Unlock()
	states := make(map[string]State, len(s.slots))
	for name, slot := range s.slots {
		states[name] = slot.state()
	}
	return states
}
