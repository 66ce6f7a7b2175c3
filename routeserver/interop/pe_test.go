package interop

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"weft/routeserver/internal/wire"
)

// speaker is a third-party BGP daemon with its abilities as a PE.
type speaker struct {
	name      string
	programs  []string // files of the daemon, which is absent without them; none: the tests build it
	announces []wire.Family
	learns    []wire.Family
	lacks     map[wire.Family]string // the other families, and why
	evpn      []int                  // types of EVPN routes that it announces
	graceful  []wire.Family          // families with graceful restart: the route server keeps its routes
	helps     []wire.Family          // families in which it keeps the routes of a restarting route server
	mute      string                 // reason why it does not send ROUTE-REFRESH, if so
	release   func() string          // installed major release, of a daemon whose release matters
	start     func(*testing.T, seat) pe
}

var speakers = []*speaker{gobgp, frr, bird, exabgp}

// pe is a daemon that runs as a PE.
type pe interface {
	announce(...route)
	withdraw(route)
	// learned returns the routes of a family that came from the route server.
	learned(wire.Family) table
	// refresh asks the route server for the routes of a family again.
	refresh(wire.Family)
	// received counts all announcements that came from the route server, repeated ones as well.
	received() int
	// kill is kill -9. Later announcements and withdrawals take effect when the daemon is back.
	kill()
	restart()
	daemon() *process
}

// seat is the place and the configuration of a PE.
type seat struct {
	ns, dir  string
	at       transport
	number   int
	passive  bool // it waits for the route server to connect
	families []wire.Family
	hold     int  // seconds
	plain    bool // without route refresh, extended messages and the like, as far as the daemon can be configured so
	rtc      bool
	restarts bool // gracefully
	asn      uint32
	narrow   bool   // without four-octet AS numbers, as far as the daemon can be configured so
	password string // of TCP-MD5
	near     bool   // GTSM: sends with TTL 255 and accepts nothing less
}

// routeServer is the route server's number among the PEs.
const routeServer = 254

// transport returns the address of PE p, in the IP version that sessions use.
type transport func(p int) string

func ipv4(p int) string { return fmt.Sprintf("10.98.0.%d", p) }
func ipv6(p int) string { return fmt.Sprintf("2001:db8::%d", p) }

func (s seat) own() string            { return s.at(s.number) }
func (s seat) server() string         { return s.at(routeServer) }
func (s seat) id() string             { return ipv4(s.number) } // also the next hop, except for IPv6
func (s seat) hop6() string           { return ipv6(s.number) }
func (s seat) site(f wire.Family) int { return siteOf(s.number, f) }

func (s seat) has(f wire.Family) bool { return slices.Contains(s.families, f) }

// here skips a test if the daemon is not on this machine.
func (s *speaker) here(t *testing.T) {
	t.Helper()
	for _, file := range s.programs {
		if _, err := os.Stat(file); err != nil {
			t.Skipf("%s is not installed (%s is missing; make build installs it)", s.name, file)
		}
	}
}

// routes returns one route of PE p in a family, or in EVPN one of each type.
func (s *speaker) routes(p int, f wire.Family) (routes []route) {
	switch {
	case !slices.Contains(s.announces, f):
	case f == wire.EVPN:
		for _, kind := range s.evpn {
			routes = append(routes, route{f, siteOf(p, f), kind})
		}
	default:
		routes = append(routes, route{f, siteOf(p, f), 1})
	}
	return routes
}

// TestFamilies checks that a daemon learns each family, or that lacks gives a reason.
func TestFamilies(t *testing.T) {
	for _, s := range speakers {
		for f := range wire.RTC {
			if slices.Contains(s.learns, f) == (s.lacks[f] != "") {
				t.Errorf("%s: %s", s.name, f)
			}
		}
	}
}
