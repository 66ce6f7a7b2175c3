package interop

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/routeserver/internal/wire"
)

// TestMatrix runs every daemon with all its families, all at the same time with one session each, for each side that
// can open the connection. Each PE gets the others' routes with the route target of its own site, whatever daemon they
// come from, and loses them when it leaves the pool.
func TestMatrix(t *testing.T) {
	for _, role := range []struct {
		name    string
		at      transport
		options []string
		passive bool
	}{
		{"PEs connect", ipv4, nil, false},
		{"route server connects", ipv4, []string{"--active", "--connect-retry", "1s"}, true},
		{"both connect", ipv4, []string{"--active", "--connect-retry", "1s"}, false},
		{"over IPv6", ipv6, []string{"--active", "--connect-retry", "1s"}, false},
	} {
		t.Run(role.name, func(t *testing.T) {
			t.Parallel()
			present := installed(t)
			r := newRegionOver(t, role.at, present, role.options...)
			for _, s := range present {
				at := r.seat(s)
				at.passive = role.passive || s == exabgp && role.options != nil
				r.add(s, at)
			}
			until(t, "all sessions", func() bool { return r.established() == len(present) })
			for f := range wire.RTC {
				t.Run(f.String(), func(t *testing.T) { r.matrix(t, f) })
			}
		})
	}
}

// matrix checks one family: with all PEs in its pool, with the first one outside, and with all inside again.
func (r *region) matrix(t *testing.T, f wire.Family) {
	for _, m := range r.members {
		if why := m.lacks[f]; why != "" {
			t.Run(m.name, func(t *testing.T) { t.Skip(why) })
		}
	}
	each := func(what string, wanted func(member) table) {
		for _, m := range r.members {
			if m.has(f) {
				t.Run(m.name+" "+what, func(t *testing.T) { r.learns(t, m, f, wanted(m)) })
			}
		}
	}
	all := func(m member) table { return r.wanted(m, f) }
	each("in the pool", all)
	main := poolOf(f)
	r.leave(1, main)
	each("without the first", func(m member) table {
		if m.number == 1 {
			return table{}
		}
		want := all(m)
		for _, gone := range r.members[0].routes(1, f) {
			delete(want, gone.String())
		}
		return want
	})
	r.join(1, main)
	each("together again", all)
	for _, m := range r.members {
		if routes := m.routes(m.number, f); len(routes) > 0 {
			m.withdraw(routes[0])
		}
	}
	each("after a withdrawal", func(m member) table {
		want := all(m)
		for _, other := range r.members {
			if routes := other.routes(other.number, f); len(routes) > 0 {
				delete(want, routes[0].String())
			}
		}
		return want
	})
}

// TestCollision checks collisions: the route server has connected to every PE, and every PE connects to the route
// server before it has answered. In the end there is one session with each, with all routes. (The tests of session
// check the decision itself; these daemons would accept many outcomes.)
//
// ExaBGP only waits, as it always does when both sides connect (see exabgp_test.go). FRR goes without VPNv6: on the
// remaining session it may ignore the next hop in its route map and announce an IPv4-mapped IPv6 address, which BIRD
// refuses (8.4.4, one run in five).
func TestCollision(t *testing.T) {
	t.Parallel()
	present := installed(t)
	r := newRegion(t, present, "--active", "--connect-retry", "1s", "--confirm-wait", "1ms")
	for _, s := range present {
		at := r.seat(s)
		at.passive = s == exabgp
		if s == frr {
			at.families = slices.DeleteFunc(slices.Clone(at.families), func(f wire.Family) bool { return f == wire.VPNv6 })
		}
		r.add(s, at)
	}
	check := func() {
		for _, m := range r.members {
			for _, f := range m.families {
				r.learns(t, m, f, r.wanted(m, f))
			}
		}
	}
	check()
	for _, m := range r.members {
		m.daemon().freeze()
	}
	r.server.kill()
	r.startServer()
	connections := func() int {
		return strings.Count(must(t, "ip netns exec "+r.ns+" ss -Htn state established src "+r.at(routeServer)+" ( sport = 179 or dport = 179 )"), "\n")
	}
	until(t, "a connection to each", func() bool { return connections() == len(present) })
	time.Sleep(1200 * time.Millisecond) // now all of them are due to connect
	for _, m := range r.members {
		m.daemon().thaw()
	}
	check()
	until(t, "one connection with each", func() bool { return connections() == len(present) && r.established() == len(present) })
	r.server.kill()
	t.Logf("%d collisions that the PEs decided", strings.Count(r.server.said(), "NOTIFICATION received: 6/7"))
}

// poolOf returns the family whose pool decides over a family's routes.
func poolOf(f wire.Family) wire.Family { return wire.Family(siteOf(0, f)) }

// installed returns the daemons on this machine.
func installed(t *testing.T) (present []*speaker) {
	t.Helper()
	for _, s := range speakers {
		missing := slices.ContainsFunc(s.programs, func(file string) bool { _, err := exec.LookPath(file); return err != nil })
		if missing {
			t.Run(s.name, s.here)
			continue
		}
		present = append(present, s)
	}
	return present
}
