package interop

import (
	"context"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// farAS is an AS behind the PEs without four-octet AS numbers; their AS_PATH cannot express it.
const farAS = 4200000077

// abroad makes a region with PEs of other ASes.
func abroad(t *testing.T, peers []*speaker, place func(p int, s *speaker, at *seat), options ...string) *region {
	t.Helper()
	r := newRegion(t, peers, options...)
	change := ruleset.Change{Base: r.generation, Generation: r.generation + 1}
	seats := []seat{}
	for i, s := range peers {
		at := r.seat(s)
		at.number = i + 1
		place(at.number, s, &at)
		seats = append(seats, at)
		change.Ops = append(change.Ops, ruleset.Operation{Op: ruleset.SetPeer, Peer: &ruleset.Peer{Name: fmt.Sprintf("pe%d", at.number), Address: at.own(), ASN: at.asn}})
	}
	if err := r.call("POST", "/v1/changes", change, &struct{}{}); err != nil {
		t.Fatal(err)
	}
	r.generation++
	for i, s := range peers {
		r.add(s, seats[i])
	}
	until(t, "all sessions", func() bool { return r.established() == len(peers) })
	return r
}

// TestExternalPEs puts daemons of other ASes and of ours into the same pools, in all families, some of them without
// four-octet AS numbers. (gobgpd and FRR can turn these off only with all other capabilities.)
func TestExternalPEs(t *testing.T) {
	t.Parallel()
	r := abroad(t, append(installed(t), gobgp), func(p int, s *speaker, at *seat) {
		switch {
		case s == frr:
			at.asn = 65002
		case s == bird:
			at.asn, at.narrow = 65003, true
		case s == exabgp:
			at.narrow = true
		case p > 1:
			at.asn = 4200000005
		}
	})
	t.Run("paths", func(t *testing.T) {
		const f = wire.VPNv4
		for _, m := range r.members {
			see, can := m.pe.(interface {
				paths(wire.Family) map[string]string
			})
			if !can {
				continue
			}
			r.learns(t, m, f, r.wanted(m, f))
			want := map[string]string{}
			for _, other := range r.members {
				for _, route := range other.routes(other.number, f) {
					if other.number != m.number {
						want[route.String()] = path(other.seat, m.seat)
					}
				}
			}
			if have := see.paths(f); !maps.Equal(have, want) {
				t.Errorf("%s (pe%d) sees the paths %v, not %v", m.name, m.number, have, want)
			}
		}
	})
	for f := range wire.RTC {
		t.Run(f.String(), func(t *testing.T) { r.matrix(t, f) })
	}
}

// TestExternalPEsNearby checks GTSM with external PEs.
func TestExternalPEsNearby(t *testing.T) {
	t.Parallel()
	const f = wire.VPNv4
	r := abroad(t, installed(t), func(p int, _ *speaker, at *seat) {
		at.asn, at.near, at.families = uint32(65000+p), true, []wire.Family{f}
	}, "--ttl-security", "1")
	for _, m := range r.members {
		r.learns(t, m, f, r.wanted(m, f))
	}
}

// path returns the AS_PATH that a PE should see on a route of another one.
func path(from, to seat) string {
	var ases []string
	if to.asn != 65000 {
		ases = append(ases, "65000")
	}
	if from.asn != 65000 {
		ases = append(ases, fmt.Sprint(from.asn))
	}
	if from.narrow && from.asn != 65000 { // BIRD prepends it
		ases = append(ases, fmt.Sprint(farAS))
	}
	return strings.Join(ases, " ")
}

func (g *gobgpd) paths(f wire.Family) map[string]string {
	g.t.Helper()
	stream, err := g.api.ListPath(context.Background(), &api.ListPathRequest{
		TableType: api.TableType_TABLE_TYPE_GLOBAL, Family: familyOf(f), EnableAttributeBinary: true, EnableNlriBinary: true,
	})
	paths := map[string]string{}
	for err == nil {
		var reply *api.ListPathResponse
		if reply, err = stream.Recv(); err != nil {
			break
		}
		for _, path := range reply.Destination.Paths {
			if path.NeighborIp != g.server() {
				continue
			}
			n, err := bgp.NLRIFromSlice(bgp.NewFamily(f.AFI(), f.SAFI()), path.NlriBinary)
			if err != nil {
				g.t.Fatal(err)
			}
			for _, data := range path.PattrsBinary {
				if data[1] != byte(bgp.BGP_ATTR_TYPE_AS_PATH) {
					continue
				}
				a := &bgp.PathAttributeAsPath{}
				if err := a.DecodeFromBytes(data); err != nil {
					g.t.Fatal(err)
				}
				paths[nameOf(n)] = bgp.AsPathString(a)
			}
		}
	}
	if err != io.EOF {
		g.t.Fatal(err)
	}
	return paths
}

func (b *birdPE) paths(f wire.Family) map[string]string {
	b.t.Helper()
	if said := b.tell("show", "protocols", "all", "server"); b.narrow && strings.Count(said, "4-octet AS numbers") != 1 { // ours
		b.t.Errorf("BIRD has four-octet AS numbers:\n%s", said)
	}
	paths, name := map[string]string{}, ""
	for _, line := range strings.Split(b.tell("show", "route", "all", "table", "t_"+birdTables[f], "protocol", "server"), "\n") {
		switch words := strings.Fields(line); {
		case strings.Contains(line, "[server "):
			name = words[0] + " " + words[1]
		case len(words) > 0 && words[0] == "BGP.as_path:":
			paths[name] = strings.Join(words[1:], " ")
		}
	}
	return paths
}

// TestALoopThroughAnExternalPE checks a loop: FRR, in another AS, has sessions with two route servers, and sends routes
// from one on to the other, with the route target of its own site. Only AS_PATH shows that the route is not its own.
func TestALoopThroughAnExternalPE(t *testing.T) {
	t.Parallel()
	frr.here(t)
	const f, twin = wire.VPNv4, "10.98.0.253"
	r := abroad(t, []*speaker{gobgp, frr}, func(_ int, s *speaker, at *seat) {
		at.families = []wire.Family{f}
		if s == frr {
			at.asn = 65002
		}
	})
	must(t, fmt.Sprintf("ip -n %s addr add %s/32 dev lo", r.ns, twin))
	api := twin + ":9179"
	spawn(t, "ip", append([]string{"netns", "exec", r.ns, program(t, routeServerCommand)}, flags(t, twin+":179", api)...)...)
	other := &control{t, "http://" + api, within(r.ns)}
	var rules ruleset.Document
	if err := r.call("GET", "/v1/ruleset", nil, &rules); err != nil {
		t.Fatal(err)
	}
	other.replace(&rules)
	pe := r.members[1]
	r.learns(t, pe, f, r.wanted(pe, f))
	neighbor := "neighbor " + twin + " "
	pe.pe.(*frrPE).tell("configure terminal", "router bgp 65002", neighbor+"remote-as 65000", neighbor+"update-source "+pe.own(),
		neighbor+"ebgp-multihop", neighbor+"timers connect 1", "address-family ipv4 vpn", neighbor+"activate", "end")
	type shown struct{ NLRI, Peer, Endpoint, Reason string }
	var list struct{ Routes []shown }
	until(t, "both routes at the other route server", func() bool {
		if err := other.call("GET", "/v1/routes?peer=pe2", nil, &list); err != nil {
			t.Fatal(err)
		}
		return len(list.Routes) == 2
	})
	for _, have := range list.Routes {
		own := strings.HasPrefix(have.NLRI, target(siteOf(2, f)))
		if own && (have.Endpoint != endpointOf(2, f) || have.Reason != "") || !own && (have.Endpoint != "" || have.Reason != "loop") {
			t.Errorf("of FRR the other route server has %+v", have)
		}
	}
}
