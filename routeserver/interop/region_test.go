package interop

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// region is a route server and PEs in a network namespace, each at its own address and at port 179. (Not in
// 127.0.0.0/8: FRR takes no next hop from there.)
type region struct {
	*control
	ns         string
	at         transport
	options    []string
	server     *process
	generation uint64
	members    []member
}

type member struct {
	*speaker
	seat
	pe
}

// newRegion starts a route server that knows the future PEs; the first is PE 1. All sites of a family are in one pool,
// which has the family's name.
func newRegion(t *testing.T, peers []*speaker, options ...string) *region {
	t.Helper()
	return newRegionOver(t, ipv4, peers, options...)
}

func newRegionOver(t *testing.T, at transport, peers []*speaker, options ...string) *region {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("network namespaces need root")
	}
	ns := namespace(t, "r")
	for _, n := range []int{1, 2, 3, 4, 5, 6, routeServer} {
		must(t, fmt.Sprintf("ip -n %s addr add %s/32 dev lo", ns, ipv4(n)))
		must(t, fmt.Sprintf("ip -n %s addr add %s/128 dev lo nodad", ns, ipv6(n)))
	}
	api := ipv4(routeServer) + ":9179"
	r := &region{control: &control{t, "http://" + api, within(ns)}, ns: ns, at: at}
	r.options = append(flags(t, net.JoinHostPort(at(routeServer), "179"), api), "--router-id", ipv4(routeServer))
	r.options = append(r.options, options...)
	r.startServer()
	r.replace(r.document(peers))
	return r
}

func (r *region) startServer() {
	r.t.Helper()
	r.server = spawn(r.t, "ip", append([]string{"netns", "exec", r.ns, program(r.t, routeServerCommand)}, r.options...)...)
}

func (r *region) document(peers []*speaker) *ruleset.Document {
	r.generation = 1
	d := &ruleset.Document{Generation: 1}
	for f := range wire.Flow4 {
		d.Vcps = append(d.Vcps, ruleset.Vcp{Name: f.String()})
	}
	for i, s := range peers {
		p := i + 1
		name := fmt.Sprintf("pe%d", p)
		d.Peers = append(d.Peers, ruleset.Peer{Name: name, Address: r.at(p), ASN: 65000})
		for f := range wire.Flow4 {
			if s.lacks[f] != "" {
				continue
			}
			endpoint, rt := endpointOf(p, f), target(siteOf(p, f))
			d.Endpoints = append(d.Endpoints, ruleset.Endpoint{Name: endpoint, Peer: name, Family: f.String(), RT: rt, RD: rt})
			d.Vcps[f].Members = append(d.Vcps[f].Members, endpoint)
		}
	}
	return d
}

func endpointOf(p int, f wire.Family) string { return fmt.Sprintf("pe%d-%s", p, f) }

// seat returns the seat of the next PE, with all abilities of its daemon.
func (r *region) seat(s *speaker) seat {
	r.t.Helper()
	dir, err := os.MkdirTemp("/tmp", "weft-interop-") // short, for unix sockets; and not root's own, since FRR drops root privileges
	if err == nil {
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { os.RemoveAll(dir) })
	return seat{ns: r.ns, at: r.at, dir: filepath.Clean(dir), number: len(r.members) + 1, families: s.learns, hold: 90, asn: 65000}
}

// add starts a PE and lets it announce its routes.
func (r *region) add(s *speaker, at seat) member {
	r.t.Helper()
	m := member{s, at, s.start(r.t, at)}
	r.members = append(r.members, m)
	for _, f := range at.families {
		m.announce(s.routes(at.number, f)...)
	}
	return m
}

// wanted returns the routes that a PE should have in a family while all PEs announce theirs and all are in the pool.
func (r *region) wanted(m member, f wire.Family) table {
	want := table{}
	for _, other := range r.members {
		if other.number != m.number && other.has(f) {
			want.add(m.site(f), other.routes(other.number, f)...)
		}
	}
	return want
}

// learns waits until a PE has exactly the wanted routes.
func (r *region) learns(t *testing.T, m member, f wire.Family, want table) {
	t.Helper()
	var have table
	for deadline := time.Now().Add(40 * time.Second); time.Now().Before(deadline); time.Sleep(30 * time.Millisecond) {
		if have = m.learned(f); maps.Equal(have, want) {
			return
		}
	}
	t.Fatalf("%s (pe%d) has in %s\n%s, not\n%s", m.name, m.number, f, have, want)
}

// keeps checks for a while that a PE has the wanted routes all the time.
func (r *region) keeps(t *testing.T, m member, f wire.Family, want table, during time.Duration) {
	t.Helper()
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if have := m.learned(f); !maps.Equal(have, want) {
			t.Fatalf("%s (pe%d) has in %s\n%s, not\n%s", m.name, m.number, f, have, want)
		}
	}
}

func (r *region) join(p int, f wire.Family)  { r.move(ruleset.Join, p, f) }
func (r *region) leave(p int, f wire.Family) { r.move(ruleset.Leave, p, f) }

func (r *region) move(op string, p int, f wire.Family) {
	r.t.Helper()
	r.change(r.generation, op, f.String(), endpointOf(p, f))
	r.generation++
}
