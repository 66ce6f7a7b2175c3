package interop

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"weft/routeserver/internal/wire"
)

// TestCapabilities puts all daemons into one VPNv4 pool, with different capabilities and transports. These change no
// PE's routes, except that a PE without the family gets none.
func TestCapabilities(t *testing.T) {
	const f = wire.VPNv4
	for _, c := range []struct {
		name    string
		options []string
		seat    func(*speaker, *seat)
		many    int           // routes that BIRD announces with the same attributes
		watch   time.Duration // time for which sessions must stay
		secret  string        // of TCP-MD5
	}{
		{name: "hold time 0", watch: time.Second, seat: func(s *speaker, at *seat) {
			if s != gobgp { // gobgpd cannot be configured so
				at.hold = 0
			}
		}},
		{name: "hold time 3", watch: 4 * time.Second, seat: func(_ *speaker, at *seat) { at.hold = 3 }},
		{name: "the route server's hold time is 3", watch: 4 * time.Second, options: []string{"--hold-time", "3s"}},
		{name: "neither refresh nor extended messages", many: 600, seat: func(_ *speaker, at *seat) { at.plain = true }},
		{name: "extended messages", many: 600},
		{name: "one without the family", seat: func(s *speaker, at *seat) {
			if s == frr {
				at.families = []wire.Family{wire.VPNv6}
			}
		}},
		{name: "TCP-MD5", secret: "sesame", seat: func(_ *speaker, at *seat) { at.password = "sesame" }},
		{name: "GTSM", options: []string{"--ttl-security", "1"}, seat: func(_ *speaker, at *seat) { at.near = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			present := installed(t)
			if c.secret != "" {
				c.options = []string{"--password-file", passwords(t, c.secret, len(present))}
			}
			r := newRegion(t, present, c.options...)
			many := map[*speaker][]route{}
			for _, s := range present {
				at := r.seat(s)
				at.families = []wire.Family{f}
				if c.seat != nil {
					c.seat(s, &at)
				}
				m := r.add(s, at)
				for i := range c.many {
					if s == bird {
						many[s] = append(many[s], route{f, at.site(f), 2 + i})
					}
				}
				m.announce(many[s]...)
			}
			check := func() {
				for _, m := range r.members {
					want := table{}
					if m.has(f) {
						want = r.wanted(m, f)
						for s, routes := range many {
							if s != m.speaker {
								want.add(m.site(f), routes...)
							}
						}
					}
					r.learns(t, m, f, want)
				}
			}
			until(t, "all sessions", func() bool { return r.established() == len(present) })
			check()
			sessions := r.status().Sessions
			time.Sleep(c.watch) // keepalives come in time, or a session ends
			check()
			for i, now := range r.status().Sessions {
				if now.Since != sessions[i].Since {
					t.Errorf("the session of %s was lost", now.Peer)
				}
			}
		})
	}
}

// passwords writes a file with one password for all PEs.
func passwords(t *testing.T, secret string, pes int) string {
	t.Helper()
	var lines string
	for p := range pes {
		lines += ipv4(p+1) + " " + secret + "\n"
	}
	file := filepath.Join(t.TempDir(), "passwords")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestRouteTargetConstraint checks that a PE that constrains routes to its VRF gets these routes; one that asks for
// nothing gets nothing until it asks. (Of these daemons only gobgpd can be configured for RT-Constrain.)
func TestRouteTargetConstraint(t *testing.T) {
	t.Parallel()
	const f = wire.VPNv4
	r := newRegion(t, []*speaker{gobgp, gobgp, gobgp})
	for i := range 3 {
		at := r.seat(gobgp)
		at.families, at.rtc = []wire.Family{f, wire.FlowVPN4}, i > 0
		r.add(gobgp, at)
	}
	one, asks, later := r.members[0], r.members[1], r.members[2]
	asks.pe.(*gobgpd).vrf(asks.site(f))
	for _, f := range one.families {
		r.learns(t, one, f, r.wanted(one, f))
		r.learns(t, asks, f, r.wanted(asks, f))
	}
	r.keeps(t, later, f, table{}, 300*time.Millisecond)
	later.pe.(*gobgpd).vrf(later.site(f))
	for _, f := range one.families {
		r.learns(t, later, f, r.wanted(later, f))
	}
}

// TestForeignRouteTarget checks that a route with another PE's route target goes to quarantine, and no PE gets it.
func TestForeignRouteTarget(t *testing.T) {
	t.Parallel()
	const f = wire.VPLS
	r := newRegion(t, []*speaker{gobgp, gobgp})
	for range 2 {
		at := r.seat(gobgp)
		at.families = []wire.Family{f}
		r.add(gobgp, at)
	}
	one, two := r.members[0], r.members[1]
	one.announce(route{f, two.site(f), 9})
	until(t, "the quarantine", func() bool {
		var list struct {
			Routes []struct{ Reason, Peer string }
		}
		if err := r.call("GET", "/v1/routes?table=quarantine", nil, &list); err != nil {
			t.Fatal(err)
		}
		return len(list.Routes) == 1 && list.Routes[0].Reason == "foreign-rt" && list.Routes[0].Peer == "pe1"
	})
	r.learns(t, two, f, r.wanted(two, f))
}
