package bmp

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"weft/routeserver/internal/engine"
)

// Config is the configuration of all stations. A time of zero means the default.
type Config struct {
	Name, Description string        // sysName and sysDescr
	Statistics        time.Duration // between reports; zero: none
	Retry, RetryMost  time.Duration // between attempts to connect; doubled each time, up to RetryMost
	WriteTime         time.Duration // longest time in which a station takes nothing
}

// States of a station.
const (
	Connecting = "connecting"
	Waiting    = "waiting" // to connect again
	Copying    = "copying" // the tables at the time of the connection
	Monitoring = "monitoring"
)

// Status is a station's state, as users see it.
type Status struct {
	Address     string    `json:"address"`
	State       string    `json:"state"`
	Since       time.Time `json:"since"`
	Connections uint64    `json:"connections"`
	CutOff      uint64    `json:"cut_off"` // times that the station was too slow
	Messages    uint64    `json:"messages"`
	Bytes       uint64    `json:"bytes"`
	Backlog     int       `json:"backlog"` // entries that wait
	LastError   string    `json:"last_error"`
}

// Station is a collector to which the route server connects, again after each failure. It then gets all tables anew.
type Station struct {
	Config
	engine *engine.Engine
	log    *slog.Logger

	mu     sync.Mutex
	status Status
	feed   *engine.Feed
}

// New makes a station that is not connected yet; address is a host and a port.
func New(c Config, address string, e *engine.Engine, log *slog.Logger) *Station {
	if c.Retry == 0 {
		c.Retry = time.Second
	}
	if c.RetryMost == 0 {
		c.RetryMost = time.Minute
	}
	if c.WriteTime == 0 {
		c.WriteTime = 30 * time.Second
	}
	return &Station{
		Config: c, engine: e, log: log.With("station", address),
		status: Status{Address: address, State: Connecting, Since: time.Now()},
	}
}

// Status returns the present state of the station.
func (s *Station) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.status
	status.Since = status.Since.UTC()
	if s.feed != nil {
		status.Backlog = s.feed.Len()
	}
	return status
}

func (s *Station) enter(state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.State, s.status.Since = state, time.Now()
}

// Run keeps the station up to date until the context ends; then it sends a Termination and hangs up.
func (s *Station) Run(ctx context.Context) {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	wait := s.Retry
	for {
		s.enter(Connecting)
		began := time.Now()
		conn, err := dialer.DialContext(ctx, "tcp", s.status.Address)
		if err == nil {
			err = s.serve(ctx, conn)
		}
		if ctx.Err() != nil {
			return
		}
		s.failed(err)
		if time.Since(began) > s.RetryMost { // the connection was useful
			wait = s.Retry
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(float64(wait) * (0.75 + 0.25*rand.Float64()))):
		}
		wait = min(2*wait, s.RetryMost)
	}
}

// failed records why there is no connection. It logs the same reason only once.
func (s *Station) failed(err error) {
	s.enter(Waiting)
	s.mu.Lock()
	again := s.status.LastError == err.Error()
	s.status.LastError = err.Error()
	if errors.Is(err, errSlow) {
		s.status.CutOff++
	}
	s.mu.Unlock()
	if !again {
		s.log.Warn("the BMP station is not there", "error", err)
	}
}

func cause(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}
