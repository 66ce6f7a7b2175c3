package interop

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"weft/routeserver/internal/wire"
)

// speaker is somebody else's BGP daemon, and what it can do as a PE.
type speaker struct {
	name      string
	programs  []string // without these files it is not here; none: it is built with the tests
	announces []wire.Family
	learns    []wire.Family
	lacks     map[wire.Family]string // the other families, and why
	evpn      []int                  // the types of EVPN routes that it announces
	graceful  []wire.Family          // it restarts gracefully in these: the route server keeps its routes
	helps     []wire.Family          // and in these it keeps the routes of a route server that restarts
	mute      string                 // why it does not send ROUTE-REFRESH, if it does not
	release   func() string          // the major release that is here, of a daemon of which it matters
	start     func(*testing.T, seat) pe
}

var speakers = []*speaker{gobgp, frr, bird, exabgp}

// pe is a daemon that runs as a PE.
type pe interface {
	announce(...route)
	withdraw(route)
	// learned gives the routes of a family that came from the route server.
	learned(wire.Family) table
	// refresh asks the route server for the routes of a family again.
	refresh(wire.Family)
	// received counts the announcements that ever came from the route server, repeated ones as well.
	received() int
	// kill is kill -9. What is announced or withdrawn after that is so when the daemon is back.
	kill()
	restart()
	daemon() *process
}

// seat is where a PE is and how it speaks.
type seat struct {
	ns, dir  string
	at       transport
	number   int
	passive  bool // it waits for the route server to connect
	families []wire.Family
	hold     int  // seconds
	plain    bool // without route refresh, extended messages and the like, as far as that can be told to the daemon
	rtc      bool
	restarts bool // gracefully
	asn      uint32
	narrow   bool   // without four-octet AS numbers, as far as that can be told to the daemon
	password string // of TCP-MD5
	near     bool   // GTSM: sends with TTL 255 and takes nothing less
}

// routeServer is the number that the route server has among the PEs.
const routeServer = 254

// transport gives the address of PE p, in the IP version that sessions use.
type transport func(p int) string

func ipv4(p int) string { return fmt.Sprintf("10.98.0.%d", p) }
func ipv6(p int) string { return fmt.Sprintf("2001:db8::%d", p) }

func (s seat) own() string            { return s.at(s.number) }
func (s seat) server() string         { return s.at(routeServer) }
func (s seat) id() string             { return ipv4(s.number) } // also the next hop, but for IPv6
func (s seat) hop6() string           { return ipv6(s.number) }
func (s seat) site(f wire.Family) int { return siteOf(s.number, f) }

func (s seat) has(f wire.Family) bool { return slices.Contains(s.families, f) }

// here skips a test of a daemon that is not on this machine.
func (s *speaker) here(t *testing.T) {
	t.Helper()
	for _, file := range s.programs {
		if _, err := os.Stat(file); err != nil {
			t.Skipf("%s is not installed (%s is missing; make build installs it)", s.name, file)
		}
	}
}

// routes are one route of PE p in a family, or in EVPN one of each type.
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

// TestFamilies: for each family a daemon learns it, or it is said why not.
func TestFamilies(t *testing.T) {
	for _, s := range speakers {
		for f := range wire.RTC {
			if slices.Contains(s.learns, f) == (s.lacks[f] != "") {
				t.Errorf("%s: %s", s.name, f)
			}
		}
	}
}
