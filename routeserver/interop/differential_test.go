package interop

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/ruleset"
)

var differentialSeed = flag.Uint64("seed", 1, "`seed` of TestDifferential")

const (
	differentialPEs   = 6
	differentialPools = 4
)

func differentialAddress(pe int) string { return fmt.Sprintf("127.0.76.%d", 11+pe) }

type membership struct{ pe, pool int }

// announced is a route of a PE, and the PE whose route target it has: usually the same one.
type announced struct {
	nlri   bgp.NLRI
	target int
}

// TestDifferential sends the same random announcements and memberships to the route server and to gobgpd with policies.
// After every step both must send the PEs the same routes: those that a plain reading of the pools gives.
func TestDifferential(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(*differentialSeed, 0))
	ours, theirs := free(t, "127.0.76.1"), netip.MustParseAddrPort(free(t, "127.0.76.2"))
	host := free(t, "127.0.76.1")
	spawn(t, program(t, routeServerCommand), flags(t, ours, host)...)
	c := &control{t, "http://" + host, http.DefaultClient}
	d := &ruleset.Document{Generation: 1}
	for pe := range differentialPEs {
		name, rt := fmt.Sprintf("pe%d", pe), fmt.Sprintf("65000:%d", pe+1)
		d.Peers = append(d.Peers, ruleset.Peer{Name: name, Address: differentialAddress(pe), ASN: 65000})
		d.Endpoints = append(d.Endpoints, ruleset.Endpoint{Name: "site-" + name, Peer: name, Family: "vpnv4", RT: rt, RD: rt})
	}
	for pool := range differentialPools {
		d.Vcps = append(d.Vcps, ruleset.Vcp{Name: fmt.Sprintf("pool%d", pool)})
	}
	c.replace(d)
	policies := startPoliced(t, theirs)
	families := []bgp.Family{bgp.RF_IPv4_VPN, bgp.RF_FS_IPv4_VPN}
	var pes [differentialPEs][2]*petest.PE
	for pe := range pes {
		for i, remote := range []string{ours, theirs.String()} {
			session := petest.Connect(t, petest.Options{Local: differentialAddress(pe), Remote: remote, Families: families})
			session.Handshake() // gobgpd sends End-of-RIB only with graceful restart, so the test does not wait for it
			session.Run()
			pes[pe][i] = session
		}
	}

	members := map[membership]bool{}
	routes := [differentialPEs]map[string]announced{}
	for pe := range routes {
		routes[pe] = map[string]announced{}
	}
	share := func(a, b int) bool {
		for pool := range differentialPools {
			if members[membership{a, pool}] && members[membership{b, pool}] {
				return true
			}
		}
		return false
	}
	most := 0
	for step := range 150 {
		pe := random.IntN(differentialPEs)
		if m := (membership{pe, random.IntN(differentialPools)}); random.IntN(2) == 0 {
			op := ruleset.Join
			if members[m] {
				op = ruleset.Leave
				delete(members, m)
			} else {
				members[m] = true
			}
			c.change(uint64(c.generation()), op, fmt.Sprintf("pool%d", m.pool), fmt.Sprintf("site-pe%d", m.pe))
			policies.set(members)
		} else {
			f := families[random.IntN(len(families))]
			n := differentialRoute(t, f, pe, random.IntN(8), 16+random.Uint32N(1<<20-16))
			message := petest.Withdrawal(t, f, []bgp.NLRI{n})
			if random.IntN(4) == 0 {
				delete(routes[pe], n.String())
			} else {
				a := announced{n, pe}
				if random.IntN(5) == 0 {
					a.target = random.IntN(differentialPEs) // another PE's: nobody may get it
				}
				message = petest.Announcement(t, f, []bgp.NLRI{n}, []string{fmt.Sprintf("65000:%d", a.target+1)})
				routes[pe][n.String()] = a
			}
			pes[pe][0].Send(message)
			pes[pe][1].Send(message)
		}
		for to := range pes {
			want := map[string]string{}
			for from := range routes {
				if from == to || !share(from, to) {
					continue
				}
				for name, a := range routes[from] {
					if a.target == from {
						want[name] = fmt.Sprintf("65000:%d", to+1)
					}
				}
			}
			most = max(most, len(want))
			pes[to][0].Has(want)
			pes[to][1].Has(want)
		}
		if t.Failed() {
			t.Fatalf("step %d; memberships %v", step, slices.Collect(maps.Keys(members)))
		}
	}
	if most < 3 {
		t.Errorf("no PE ever had more than %d routes: this says nothing", most)
	}
}

// differentialRoute returns route i of a PE. The label is not part of its key: another label makes another version of
// the same route, and a withdrawal withdraws the route whatever label it has (RFC 8277 section 2.4).
func differentialRoute(t *testing.T, f bgp.Family, pe, i int, label uint32) (n bgp.NLRI) {
	t.Helper()
	rd := bgp.NewRouteDistinguisherTwoOctetAS(65000, uint32(pe+1))
	prefix := netip.MustParsePrefix(fmt.Sprintf("10.%d.%d.0/24", pe, i))
	p, err := bgp.NewIPAddrPrefix(prefix)
	if err == nil && f == bgp.RF_IPv4_VPN {
		n, err = bgp.NewLabeledVPNIPAddrPrefix(prefix, *bgp.NewMPLSLabelStack(label), rd)
	} else if err == nil {
		n, err = bgp.NewFlowSpecVPN(f, rd, []bgp.FlowSpecComponentInterface{bgp.NewFlowSpecDestinationPrefix(p)})
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// generation returns the generation in force.
func (c *control) generation() (n uint64) {
	var status struct{ Generation uint64 }
	if err := c.call("GET", "/v1/status", nil, &status); err != nil {
		c.t.Fatal(err)
	}
	return status.Generation
}

// free returns an address and port on which nobody listens.
func free(t *testing.T, address string) string {
	t.Helper()
	l, err := net.Listen("tcp", address+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
