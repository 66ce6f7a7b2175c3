package interop

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// longTime is the number of seconds for which PEs ask others to keep their routes after the restart time.
const longTime = 600

// lasting is a PE with long-lived graceful restart. stale reports whether it has a route with LLGR_STALE.
type lasting interface {
	pe
	launch(again bool)
	stale(route) bool
}

type longGobgpd struct{ *gobgpd }

// launch opens the session only when long-lived graceful restart is configured.
func (g *longGobgpd) launch(again bool) {
	g.t.Helper()
	g.passive = true
	g.gobgpd.launch(again)
	ctx := context.Background()
	if _, err := g.api.DeletePeer(ctx, &api.DeletePeerRequest{Address: g.server()}); err != nil {
		g.t.Fatal(err)
	}
	peer := &api.Peer{
		Conf:      &api.PeerConf{NeighborAddress: g.server(), PeerAsn: 65000},
		Timers:    &api.Timers{Config: &api.TimersConfig{ConnectRetry: 1, IdleHoldTimeAfterReset: 1}},
		Transport: &api.Transport{LocalAddress: g.own()},
		GracefulRestart: &api.GracefulRestart{
			Enabled: true, RestartTime: longTime, DeferralTime: 5, LocalRestarting: again, NotificationEnabled: true, LonglivedEnabled: true,
		},
	}
	for _, f := range g.families {
		peer.AfiSafis = append(peer.AfiSafis, &api.AfiSafi{
			Config:                   &api.AfiSafiConfig{Family: familyOf(f), Enabled: true},
			MpGracefulRestart:        &api.MpGracefulRestart{Config: &api.MpGracefulRestartConfig{Enabled: true}},
			LongLivedGracefulRestart: &api.LongLivedGracefulRestart{Config: &api.LongLivedGracefulRestartConfig{Enabled: true, RestartTime: longTime}},
		})
	}
	if _, err := g.api.AddPeer(ctx, &api.AddPeerRequest{Peer: peer}); err != nil {
		g.t.Fatal(err)
	}
}

func (g *longGobgpd) restart() { g.launch(true) }

func (g *longGobgpd) stale(r route) bool {
	g.t.Helper()
	stream, err := g.api.ListPath(context.Background(), &api.ListPathRequest{
		TableType: api.TableType_TABLE_TYPE_GLOBAL, Family: familyOf(r.family), EnableAttributeBinary: true, EnableNlriBinary: true,
	})
	if err != nil {
		g.t.Fatal(err)
	}
	for {
		reply, err := stream.Recv()
		if err == io.EOF {
			return false
		}
		if err != nil {
			g.t.Fatal(err)
		}
		for _, path := range reply.Destination.Paths {
			n, err := bgp.NLRIFromSlice(bgp.NewFamily(r.family.AFI(), r.family.SAFI()), path.NlriBinary)
			if err != nil {
				g.t.Fatal(err)
			}
			if path.NeighborIp == g.server() && nameOf(n) == r.String() {
				return slices.ContainsFunc(path.PattrsBinary, isStale)
			}
		}
	}
}

func isStale(attribute []byte) bool {
	p, err := bgp.GetPathAttribute(attribute)
	if err != nil || p.DecodeFromBytes(attribute) != nil {
		return false
	}
	c, ok := p.(*bgp.PathAttributeCommunities)
	return ok && slices.Contains(c.Value, uint32(bgp.COMMUNITY_LLGR_STALE))
}

type longFRR struct{ *frrPE }

func (f *longFRR) launch(bool) {
	f.t.Helper()
	lines := f.configuration()
	at := slices.Index(lines, " bgp graceful-restart")
	lines = slices.Insert(lines, at, fmt.Sprintf(" bgp long-lived-graceful-restart stale-time %d", longTime))
	config := f.dir + "/bgpd.conf"
	if err := os.WriteFile(config, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		f.t.Fatal(err)
	}
	f.run(config)
}

func (f *longFRR) restart() { f.launch(true) }

func (f *longFRR) stale(r route) bool {
	f.t.Helper()
	return strings.Contains(f.tell(fmt.Sprintf("show bgp %s rd %s %s", frrFamilies[r.family], r.rt(), r.prefix())), "llgr-stale")
}

type longBIRD struct{ *birdPE }

func (b *longBIRD) launch(again bool) {
	b.t.Helper()
	b.configure()
	text, err := os.ReadFile(b.file("conf"))
	if err == nil {
		option := fmt.Sprintf(" graceful restart on; long lived graceful restart on; long lived stale time %d;", longTime)
		err = os.WriteFile(b.file("conf"), []byte(strings.Replace(string(text), " graceful restart on;", option, 1)), 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	args := []string{"netns", "exec", b.ns, "/usr/sbin/bird", "-f", "-c", b.file("conf"), "-s", b.file("ctl"), "-P", b.file("pid")}
	if again {
		args = append(args, "-R")
	}
	b.process = spawn(b.t, "ip", args...)
	until(b.t, "BIRD", func() bool { _, err := b.ask("show", "status"); return err == nil })
}

func (b *longBIRD) restart() { b.launch(true) }

func (b *longBIRD) stale(r route) bool {
	b.t.Helper()
	for _, block := range strings.Split(b.tell("show", "route", "all", "table", "t_"+birdTables[r.family], "protocol", "server"), "\n\n") {
		if strings.Contains(block, r.rt()+" "+r.prefix()+" ") {
			return strings.Contains(block, "(65535,6)") || strings.Contains(block, "LLGR_STALE")
		}
	}
	return false
}

func (r *region) longLived() (n int) {
	r.t.Helper()
	var status struct {
		Sessions []struct {
			LongLived int `json:"long_lived"`
		}
	}
	if err := r.call("GET", "/v1/status", nil, &status); err != nil {
		r.t.Fatal(err)
	}
	for _, s := range status.Sessions {
		n += s.LongLived
	}
	return n
}

// TestLongLivedGracefulRestart (RFC 9494) kills each of three daemons for longer than its restart time. The others
// still have its route, with LLGR_STALE; a PE without the capability has not. When it is back all have the route as
// before. Then the route server is away for longer than its restart time: the three keep its routes.
func TestLongLivedGracefulRestart(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute of waiting for times to pass; make test-all")
	}
	t.Parallel()
	for _, s := range speakers {
		s.here(t)
	}
	const f = wire.VPNv4
	kinds := []*speaker{gobgp, frr, bird, gobgp}
	r := newRegion(t, kinds, "--stale-time", "2s", "--long-lived-stale-time", "vpnv4=1h", "--restart-time", "2s", "--confirm-wait", "100ms",
		"--active", "--connect-retry", "1s") // after the restart time FRR waits for a connection
	var pes []lasting
	for _, s := range kinds {
		at := r.seat(s)
		at.families, at.restarts = []wire.Family{f}, true
		own := s.routes(at.number, f)[:1]
		if len(pes) == 3 {
			at.restarts = false
			m := member{s, at, s.start(t, at)}
			m.announce(own...)
			r.members = append(r.members, m)
			continue
		}
		var p lasting
		switch s {
		case gobgp:
			p = &longGobgpd{&gobgpd{t: t, seat: at, routes: own}}
		case frr:
			p = &longFRR{&frrPE{t: t, seat: at, routes: own}}
		case bird:
			p = &longBIRD{&birdPE{t: t, seat: at, routes: own}}
		}
		p.launch(false)
		pes = append(pes, p)
		r.members = append(r.members, member{s, at, p})
	}
	plain := r.members[3]
	want := func(m member, without int) table {
		have := table{}
		for _, other := range r.members {
			if other.number != m.number && other.number != without {
				have.add(m.site(f), other.routes(other.number, f)[0])
			}
		}
		return have
	}
	for _, m := range r.members {
		r.learns(t, m, f, want(m, 0))
	}
	for i, lost := range pes {
		m := r.members[i]
		own := m.routes(m.number, f)[0]
		lost.kill()
		until(t, "a long-lived route of "+m.name, func() bool { return r.longLived() == 1 })
		r.learns(t, plain, f, want(plain, m.number))
		for j, other := range pes {
			if j == i {
				continue
			}
			until(t, fmt.Sprintf("LLGR_STALE at %s for the route of %s", r.members[j].name, m.name), func() bool { return other.stale(own) })
			r.keeps(t, r.members[j], f, want(r.members[j], 0), 300*time.Millisecond)
		}
		lost.restart()
		until(t, m.name+" to be back", func() bool { return r.longLived() == 0 && r.established() == 4 })
		for j, other := range r.members {
			r.learns(t, other, f, want(other, 0))
			if j < 3 && j != i {
				until(t, "a fresh route", func() bool { return !pes[j].stale(own) })
			}
		}
	}
	own := func(i int) route { return r.members[i].routes(i+1, f)[0] }
	r.server.kill()
	r.learns(t, plain, f, table{})
	for i, p := range pes {
		until(t, r.members[i].name+" to find its routes stale", func() bool { return p.stale(own(3)) })
		r.keeps(t, r.members[i], f, want(r.members[i], 0), 300*time.Millisecond)
	}
	r.startServer()
	for i, p := range pes {
		until(t, "fresh routes at "+r.members[i].name, func() bool {
			if have := r.members[i].learned(f); !maps.Equal(have, want(r.members[i], 0)) {
				t.Fatalf("%s has %s, not %s", r.members[i].name, have, want(r.members[i], 0))
			}
			return !p.stale(own(3)) && !p.stale(own((i+1)%3))
		})
	}
	r.learns(t, plain, f, want(plain, 0))
}

// TestNotificationsWithGobgpd checks that gobgpd keeps its routes when a session ends in order to negotiate another
// family, and drops all when it is removed as a peer (RFC 8538).
func TestNotificationsWithGobgpd(t *testing.T) {
	t.Parallel()
	gobgp.here(t)
	without := *gobgp
	without.lacks = map[wire.Family]string{wire.VPNv4: "it comes later"}
	r := newRegion(t, []*speaker{&without, gobgp})
	at := r.seat(gobgp)
	at.families, at.restarts = []wire.Family{wire.VPLS, wire.VPNv4}, true
	p := &longGobgpd{&gobgpd{t: t, seat: at}}
	p.launch(false)
	m := member{gobgp, at, p}
	r.members = append(r.members, m)
	at = r.seat(gobgp)
	at.families = []wire.Family{wire.VPLS, wire.VPNv4}
	witness := r.add(gobgp, at)
	for _, f := range m.families {
		m.announce(gobgp.routes(m.number, f)...)
	}
	r.learns(t, witness, wire.VPLS, r.wanted(witness, wire.VPLS))
	r.learns(t, m, wire.VPLS, r.wanted(m, wire.VPLS))
	r.learns(t, m, wire.VPNv4, table{})

	change := func(ops ...ruleset.Operation) {
		t.Helper()
		if err := r.call("POST", "/v1/changes", ruleset.Change{Base: r.generation, Generation: r.generation + 1, Ops: ops}, &struct{}{}); err != nil {
			t.Fatal(err)
		}
		r.generation++
	}
	name, rt := endpointOf(1, wire.VPNv4), target(siteOf(1, wire.VPNv4))
	change(ruleset.Operation{Op: ruleset.SetEndpoint, Endpoint: &ruleset.Endpoint{Name: name, Peer: "pe1", Family: "vpnv4", RT: rt, RD: rt}},
		ruleset.Operation{Op: ruleset.Join, Pool: "vpnv4", Member: name})
	until(t, "the other family", func() bool {
		if have, want := m.learned(wire.VPLS), r.wanted(m, wire.VPLS); !maps.Equal(have, want) {
			t.Fatalf("gobgpd has %s, not %s", have, want)
		}
		return len(m.learned(wire.VPNv4)) > 0
	})
	for _, one := range []member{m, witness} {
		for _, f := range one.families {
			r.learns(t, one, f, r.wanted(one, f))
		}
	}

	var ops []ruleset.Operation
	for f := range wire.Flow4 {
		ops = append(ops, ruleset.Operation{Op: ruleset.RemoveEndpoint, Name: endpointOf(1, f)})
	}
	change(append(ops, ruleset.Operation{Op: ruleset.RemovePeer, Name: "pe1"})...)
	until(t, "gobgpd to drop everything", func() bool { return len(m.learned(wire.VPLS))+len(m.learned(wire.VPNv4)) == 0 })
	r.learns(t, witness, wire.VPLS, table{})
}
