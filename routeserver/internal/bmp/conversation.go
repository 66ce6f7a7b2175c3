package bmp

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"weft/routeserver/internal/engine"
)

// errSlow is the reason for which a station that does not keep up is cut off.
var errSlow = errors.New("cut off: the station was too slow, and begins again")

// serve sends a station all tables and changes over one connection.
func (s *Station) serve(ctx context.Context, conn net.Conn) error {
	defer conn.Close()
	feed := s.engine.Feed()
	defer s.engine.Unfeed(feed)
	s.mu.Lock()
	s.feed = feed
	s.status.Connections++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.feed = nil
	}()
	s.enter(Copying)
	s.log.Info("connected to the BMP station")
	gone, over := make(chan struct{}), make(chan struct{})
	defer close(over)
	go func() { // a station sends nothing, but may hang up
		_, _ = io.Copy(io.Discard, conn)
		close(gone)
	}()
	go func() { // wakes a blocked writer
		select {
		case <-feed.Cut():
		case <-gone:
		case <-over:
		}
		conn.Close()
	}()
	l := newLine(ctx, s, conn)
	defer l.release()
	err := s.tell(ctx, l, feed, gone)
	if closed(feed.Cut()) {
		return errSlow
	}
	if closed(gone) {
		return errors.New("the station closed the connection")
	}
	return cause(err)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// tell writes the entries of the feed until the context ends or the station is gone.
func (s *Station) tell(ctx context.Context, l *line, feed *engine.Feed, gone <-chan struct{}) error {
	l.write(Initiation(s.Name, s.Description))
	var ticks <-chan time.Time
	if s.Statistics > 0 {
		ticker := time.NewTicker(s.Statistics)
		defer ticker.Stop()
		ticks = ticker.C
	}
	copying := true
	for l.err == nil {
		if s.pass(l, feed.Take()) {
			select {
			case <-ticks:
				s.report(l)
			case <-ctx.Done():
				return s.end(l, feed)
			default:
			}
			continue
		}
		if feed.Behind() {
			s.engine.Copy(feed)
			continue
		}
		if l.flush(); copying && l.err == nil {
			copying = false
			s.enter(Monitoring)
		}
		select {
		case <-feed.Wake():
		case <-ticks:
			s.report(l)
		case <-gone:
			return nil
		case <-feed.Cut():
			return nil
		case <-ctx.Done():
			return s.end(l, feed)
		}
	}
	return l.err
}

// pass writes entries and reports whether there were any.
func (s *Station) pass(l *line, entries []engine.Entry) bool {
	for _, e := range entries {
		l.write(Append(l.scratch[:0], e))
	}
	return len(entries) > 0
}

func (s *Station) report(l *line) {
	at := time.Now().UnixNano()
	for _, a := range s.engine.Accounts() {
		if a.Session != nil {
			l.write(AppendStatistics(nil, a, at))
		}
	}
}

// end writes the remaining entries and a Termination, as far as the farewell time allows.
func (s *Station) end(l *line, feed *engine.Feed) error {
	for s.pass(l, feed.Take()) && l.err == nil {
		continue
	}
	l.write(Termination())
	l.flush()
	return l.err
}
