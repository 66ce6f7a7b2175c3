package interop

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"weft/routeserver/internal/poisons"
	"weft/routeserver/internal/wire"
)

// TestGuard checks that the route server holds back routes that make a real daemon fail. A PE announces each
// well-formed poison of the corpus, and a healthy route when the daemons that it hurts are back. Each of these has lost
// one session, and no other PE any; the poison is held back from them alone; and the healthy route reaches all PEs.
func TestGuard(t *testing.T) {
	if testing.Short() {
		t.Skip("each poison costs its victims a session, one after the other")
	}
	t.Parallel()
	present := slices.DeleteFunc(installed(t), func(s *speaker) bool { return s == exabgp })
	r := newRegion(t, append(slices.Clone(present), gobgp), "--poison-settle", "2s")
	for _, s := range present {
		r.add(s, r.seat(s))
	}
	p := &poisoner{region: r, number: len(present) + 1}
	until(t, "all sessions", func() bool { return r.established() == len(present) })
	p.connect(t)
	guarded := 0
	for _, f := range []wire.Family{wire.VPLS, wire.EVPN, wire.VPNv4, wire.VPNv6} {
		for _, x := range poisons.In(f.String(), p.site(f)) {
			if p.hurts(f, x) {
				guarded++
				t.Run(x.Name, func(t *testing.T) { p.guarded(t, f, x) })
			}
		}
	}
	if guarded == 0 {
		t.Error("no poison of the corpus hurts any daemon that is here")
	}
}

// guarded announces one poison and checks how the guard treats it.
func (p *poisoner) guarded(t *testing.T, f wire.Family, x poisons.Poison) {
	settled := 3 * time.Second // longer than the guard needs to form and clear a suspicion
	healthy := poisons.Healthy(f.String(), p.site(f))
	seen := map[int]map[string]bool{} // by PE: the start times of its sessions
	note := func() {
		for number, since := range p.since() {
			if seen[number] == nil {
				seen[number] = map[string]bool{}
			}
			if since[0] == 'e' {
				seen[number][since] = true
			}
		}
	}
	note()
	p.session.Write(x.Announcement)
	still := time.Now()
	until(t, "the poison is held back from those that it hurts", func() bool {
		note()
		if fmt.Sprint(p.holds()) != fmt.Sprint(p.wants(f, x)) || p.established() != len(p.members)+1 {
			still = time.Now()
		}
		return time.Since(still) > settled
	})
	for _, m := range p.members {
		want := 0
		if m.hurtBy(f, x) {
			want = 1
		}
		if lost := len(seen[m.number]) - 1; lost != want {
			t.Errorf("%s has lost %d sessions, not %d", m.name, lost, want)
		}
	}
	p.session.Write(healthy.Announcement)
	p.reaches(t, f, true, func() bool { return false })
	p.session.Write(x.Withdrawal)
	p.session.Write(healthy.Withdrawal)
	p.reaches(t, f, false, func() bool { return false })
	for name := range p.wants(f, x) { // after eight poisons of one PE the guard would hold back all its routes
		if err := p.call("POST", "/v1/peers/"+name+"/release", nil, &struct{}{}); err != nil {
			t.Error(err)
		}
	}
}

// wants returns how many routes the guard should hold back from each PE.
func (p *poisoner) wants(f wire.Family, x poisons.Poison) map[string]int {
	all := map[string]int{}
	for _, m := range p.members {
		if m.hurtBy(f, x) {
			all[fmt.Sprintf("pe%d", m.number)] = 1
		}
	}
	return all
}

// holds returns how many routes the guard holds back from each PE.
func (p *poisoner) holds() map[string]int {
	all := map[string]int{}
	for _, s := range p.status().Sessions {
		if s.Held > 0 {
			all[s.Peer] = s.Held
		}
	}
	return all
}
