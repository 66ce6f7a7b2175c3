package interop

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/poisons"
	"weft/routeserver/internal/wire"
)

// poisoner is a PE that announces the corpus of poisons to a region of third-party daemons.
type poisoner struct {
	*region
	number  int
	session *petest.PE
}

// TestPoisons lets one PE announce every poison of the corpus. No daemon of another PE loses its session over a malformed one,
// and a healthy route that follows reaches all PEs. Well-formed ones hurt the daemons that the corpus names, and no others.
func TestPoisons(t *testing.T) {
	t.Parallel()
	present := slices.DeleteFunc(installed(t), func(s *speaker) bool { return s == exabgp })
	// The route server holds no routes back here: the test observes the daemons, not the guard.
	r := newRegion(t, append(slices.Clone(present), gobgp), "--poison-settle", "0s")
	for _, s := range present {
		r.add(s, r.seat(s))
	}
	p := &poisoner{region: r, number: len(present) + 1}
	until(t, "all sessions", func() bool { return r.established() == len(present) })
	p.connect(t)
	for _, f := range []wire.Family{wire.VPLS, wire.EVPN, wire.VPNv4, wire.VPNv6} {
		t.Run(f.String(), func(t *testing.T) {
			all := poisons.In(f.String(), p.site(f))
			harmless := slices.DeleteFunc(slices.Clone(all), func(x poisons.Poison) bool { return p.hurts(f, x) })
			if lost := p.announce(t, f, harmless...); len(lost) > 0 {
				t.Errorf("lost their session: %v", lost)
				for _, x := range harmless {
					if lost := p.announce(t, f, x); len(lost) > 0 {
						t.Errorf("%s, %s: %v", x.Name, x.Fate, lost)
					}
				}
			}
			if testing.Short() {
				return // each poison that hurts costs its victims a session, one after the other
			}
			for _, x := range all {
				if p.hurts(f, x) {
					t.Logf("%s hurts %v", x.Name, p.victims(t, f, x))
				}
			}
		})
	}
}

// victims announces one well-formed poison, and compares the daemons that it hurts with those in the corpus.
func (p *poisoner) victims(t *testing.T, f wire.Family, x poisons.Poison) []string {
	t.Helper()
	lost := p.announce(t, f, x)
	for _, m := range p.members {
		if slices.Contains(lost, m.name) != m.hurtBy(f, x) {
			t.Errorf("%s: %s has lost its session: %t", x.Name, m.name, slices.Contains(lost, m.name))
		}
	}
	return lost
}

// hurts reports whether a poison hurts any daemon in the region.
func (p *poisoner) hurts(f wire.Family, x poisons.Poison) bool {
	return slices.ContainsFunc(p.members, func(m member) bool { return m.hurtBy(f, x) })
}

// hurtBy reports whether a poison hurts this daemon, in the installed release.
func (m member) hurtBy(f wire.Family, x poisons.Poison) bool {
	return m.has(f) && slices.ContainsFunc(x.Hurts, func(name string) bool {
		return name == m.name || m.release != nil && name == m.name+" "+m.release()
	})
}

func (p *poisoner) site(f wire.Family) poisons.Site {
	s := poisons.Site{Hop: netip.MustParseAddr(ipv4(p.number)), Hop6: netip.MustParseAddr(ipv6(p.number))}
	binary.BigEndian.PutUint16(s.RD[2:], 65000)
	binary.BigEndian.PutUint32(s.RD[4:], uint32(siteOf(p.number, f)))
	s.RT = s.RD
	s.RT[1] = 2
	return s
}

func (p *poisoner) connect(t *testing.T) {
	t.Helper()
	conn, err := dialFrom(p.ns, ipv4(p.number), ipv4(routeServer)+":179")
	if err != nil {
		t.Fatal(err)
	}
	p.session = petest.Over(t, conn, petest.Options{
		ID: ipv4(p.number), Families: []bgp.Family{bgp.RF_VPLS, bgp.RF_EVPN, bgp.RF_IPv4_VPN, bgp.RF_IPv6_VPN},
	})
	p.session.Handshake()
	p.session.Run()
}

// announce announces poisons and then a healthy route, waits until all PEs have that, withdraws all, and returns the
// names of the daemons that have lost their session meanwhile.
func (p *poisoner) announce(t *testing.T, f wire.Family, list ...poisons.Poison) (lost []string) {
	t.Helper()
	healthy := poisons.Healthy(f.String(), p.site(f))
	before := p.since()
	for _, x := range append(slices.Clone(list), healthy) {
		p.session.Write(x.Announcement)
	}
	gone := func() bool { return fmt.Sprint(p.since()) != fmt.Sprint(before) }
	p.reaches(t, f, true, gone)
	if p.hurts(f, list[0]) { // a poison may still be on its way to a daemon
		for end := time.Now().Add(time.Second); time.Now().Before(end) && !gone(); time.Sleep(20 * time.Millisecond) {
		}
	}
	for _, m := range p.members {
		if now := p.since(); now[m.number] != before[m.number] {
			lost = append(lost, m.name)
		}
	}
	for _, x := range append(slices.Clone(list), healthy) {
		p.session.Write(x.Withdrawal)
	}
	until(t, "all sessions", func() bool { return p.established() == len(p.members)+1 })
	p.reaches(t, f, false, func() bool { return false })
	return lost
}

// since returns the state and the start time of each PE's session.
func (p *poisoner) since() map[int]string {
	began := map[int]string{}
	for _, s := range p.status().Sessions {
		var number int
		if _, err := fmt.Sscanf(s.Peer, "pe%d", &number); err == nil && number != p.number {
			began[number] = s.State + s.Since
		}
	}
	return began
}

// reaches waits until all PEs have the healthy route of a family, or none has; or until another condition is met.
func (p *poisoner) reaches(t *testing.T, f wire.Family, there bool, or func() bool) {
	t.Helper()
	name := map[wire.Family]string{wire.VPLS: "ve 1000 ", wire.EVPN: "02:00:00:01:03:e8", wire.VPNv4: "100.67.232.0/24", wire.VPNv6: "2001:db8:ffff:3e8::/64"}[f]
	for _, m := range p.members {
		if !m.has(f) {
			continue
		}
		until(t, fmt.Sprintf("the healthy route at %s: %t", m.name, there), func() bool {
			found := false
			for route := range m.learned(f) {
				found = found || strings.Contains(route, name)
			}
			return found == there || or()
		})
	}
}
