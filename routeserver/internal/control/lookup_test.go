package control_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/petest"
)

const meshed = `{"generation": 5, "peers": [{"name": "a", "address": "127.0.77.11", "asn": 65000}, {"name": "b", "address": "127.0.77.12", "asn": 65000},
{"name": "c", "address": "127.0.77.13", "asn": 65001}, {"name": "v", "address": "127.0.77.14", "asn": 65000}],
"endpoints": [{"name": "ea", "peer": "a", "family": "l2vpn-evpn", "rt": "65000:1", "rd": "65000:1"},
{"name": "eb", "peer": "b", "family": "l2vpn-evpn", "rt": "65000:2", "rd": "65000:2"},
{"name": "ec", "peer": "c", "family": "l2vpn-evpn", "rt": "65000:3", "rd": "65000:3"},
{"name": "ev", "peer": "v", "family": "l2vpn-vpls", "rt": "65000:4", "rd": "65000:4"}],
"vcps": [{"name": "blue", "members": ["ea", "eb", "ec"]}, {"name": "green", "members": ["ea", "ec"]}]}`

// mesh is a route server with three PEs that have announced routes to each other.
func mesh(t *testing.T) (h *house, a, b, c *petest.PE) {
	h = build(t)
	h.must("PUT", "/v1/ruleset", meshed, &struct{}{})
	a = petest.Dial(t, petest.Options{Local: "127.0.77.11", Remote: h.bgp})
	b = petest.Dial(t, petest.Options{Local: "127.0.77.12", Remote: h.bgp})
	c = petest.Dial(t, petest.Options{Local: "127.0.77.13", Remote: h.bgp, ASN: 65001})
	return h, a, b, c
}

// prefix makes an EVPN type 5 NLRI.
func prefix(t *testing.T, rd, text string) bgp.NLRI {
	t.Helper()
	parsed, err := bgp.ParseRouteDistinguisher(rd)
	if err != nil {
		t.Fatal(err)
	}
	p := netip.MustParsePrefix(text)
	esi := bgp.EthernetSegmentIdentifier{Type: bgp.ESI_ARBITRARY, Value: make([]byte, 9)}
	gateway := netip.IPv4Unspecified()
	if p.Addr().Is6() {
		gateway = netip.IPv6Unspecified()
	}
	n, err := bgp.NewEVPNIPPrefixRoute(parsed, esi, 0, uint8(p.Bits()), p.Addr(), gateway, 10000)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

type match struct {
	Peer, Endpoint, Reason, NLRI string
	Pools                        []string
	Longest                      []string `json:"longest_in"`
	Length                       *int
	Recipients                   int
}

// looked returns the matches of a lookup as "peer length longest-in".
func (h *house) looked(query string) (list []string, bare int) {
	h.t.Helper()
	var found struct {
		Routes    []match
		Truncated bool
		Bare      int `json:"vpls_routes"`
	}
	h.must("GET", "/v1/lookup?"+query, "", &found)
	for _, m := range found.Routes {
		length := "mac"
		if m.Length != nil {
			length = fmt.Sprint(*m.Length)
		}
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", m.Peer, length, strings.Join(m.Longest, "+"), m.Reason)))
	}
	return list, found.Bare
}

func TestLookup(t *testing.T) {
	h, a, b, c := mesh(t)
	evpn := func(pe *petest.PE, rt string, nlris ...bgp.NLRI) {
		pe.Send(petest.Announcement(t, bgp.RF_EVPN, nlris, []string{rt}))
	}
	evpn(a, "65000:1", prefix(t, "65000:1", "10.0.0.0/8"), petest.MAC(t, "65000:1", "02:00:00:00:00:01", "10.1.0.5", 10000))
	evpn(b, "65000:2", prefix(t, "65000:2", "10.1.0.0/24"), prefix(t, "65000:2", "2001:db8::/32"))
	evpn(b, "65000:1", prefix(t, "65000:2", "10.1.0.4/30")) // in quarantine: it is not b's route target
	v := petest.Dial(t, petest.Options{Local: "127.0.77.14", Remote: h.bgp})
	v.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{petest.VPLS(t, "65000:4", 4, 1, 64, 4097)}, []string{"65000:4"}))
	c.Until("all routes", func() bool {
		in := 0
		for _, p := range h.engine.PeerViews() {
			in += p.In
		}
		return in == 6
	})
	for query, want := range map[string]string{
		"address=10.1.0.5":                            "a 32 blue+green; b 30  foreign-rt",
		"address=10.1.0.9":                            "b 24 blue; a 8 green",
		"address=10.9.9.9":                            "a 8 blue+green",
		"address=192.0.2.1":                           "",
		"address=2001:db8::1":                         "b 32 blue",
		"address=::ffff:10.9.9.9":                     "a 8 blue+green",
		"prefix=10.1.0.0/25":                          "b 24 blue; a 8 green",
		"prefix=10.0.0.0/7":                           "",
		"mac=02:00:00:00:00:01":                       "a mac blue+green",
		"mac=02-00-00-00-00-01":                       "a mac blue+green",
		"mac=" + url.QueryEscape("02:00:00:00:00:02"): "",
	} {
		list, bare := h.looked(query)
		if got := strings.Join(list, "; "); got != want || bare != 1 {
			t.Errorf("%s: %q, not %q; %d without addresses", query, got, want, bare)
		}
	}
	for _, bad := range []string{"", "address=x", "address=10.0.0.0/8", "address=fe80::1%25eth0", "prefix=10.0.0.1/8", "prefix=10.0.0.1", "mac=x", "mac=02:00:00:00:00:00:00:01", "address=10.0.0.1&mac=02:00:00:00:00:01", "ip=10.0.0.1"} {
		if status, text := h.do("GET", "/v1/lookup?"+bad, ""); status != http.StatusBadRequest {
			t.Errorf("%q: %d %s", bad, status, text)
		}
	}
}

type path struct {
	Peer, State, Reason string
	Pools               []string
	Attributes          map[string]any
	Sent                []struct {
		External   bool
		Attributes map[string]any
		To         []struct {
			Peer   string
			RTs    []string
			SentAt *string `json:"sent_at"`
		}
	}
}

func TestPaths(t *testing.T) {
	h, a, b, c := mesh(t)
	n := petest.MAC(t, "65000:1", "02:00:00:00:00:01", "10.1.0.5", 10000)
	a.Send(petest.Announcement(t, bgp.RF_EVPN, []bgp.NLRI{n}, []string{"65000:1"}, bgp.NewPathAttributeCommunities([]uint32{65000<<16 | 7})))
	b.Has(map[string]string{n.String(): "65000:2"})
	b.Send(petest.Announcement(t, bgp.RF_EVPN, []bgp.NLRI{n}, []string{"65000:2"})) // a duplicate
	other := petest.MAC(t, "65000:1", "02:00:00:00:00:02", "", 10000)
	a.Send(petest.Announcement(t, bgp.RF_EVPN, []bgp.NLRI{other}, []string{"65000:1"}))
	c.Until("both routes", func() bool { return h.engine.PeerViews()[1].In == 1 && h.engine.PeerViews()[2].Out == 2 })
	var listed struct{ Routes []struct{ Key, NLRI string } }
	h.must("GET", "/v1/routes?mac=02:00:00:00:00:01&peer=a", "", &listed)
	for _, name := range []string{n.String(), listed.Routes[0].NLRI, listed.Routes[0].Key} {
		var found struct {
			Paths     []path
			Withdrawn []struct{ Peer string }
			Truncated bool
		}
		h.must("GET", "/v1/paths?nlri="+url.QueryEscape(name), "", &found)
		if len(found.Paths) != 2 || found.Truncated || len(found.Withdrawn) > 0 {
			t.Fatalf("%s: %+v", name, found)
		}
		p, duplicate := found.Paths[0], found.Paths[1]
		if p.Peer != "a" || p.State != "accepted" || strings.Join(p.Pools, "+") != "blue+green" || p.Attributes["communities"] == nil || p.Attributes["originator_id"] != nil {
			t.Errorf("the first path is %+v", p)
		}
		if duplicate.Peer != "b" || duplicate.State != "quarantined" || duplicate.Reason != "duplicate" || len(duplicate.Sent) > 0 {
			t.Errorf("the second path is %+v", duplicate)
		}
		to := map[string]string{}
		for _, form := range p.Sent {
			for _, r := range form.To {
				to[r.Peer] = fmt.Sprint(form.External, form.Attributes["originator_id"] != nil, r.RTs, r.SentAt != nil)
			}
		}
		if len(p.Sent) != 2 || to["b"] != "false true [65000:2] true" || to["c"] != "true false [65000:3] true" || len(to) != 2 {
			t.Errorf("it was sent to %v in %d forms", to, len(p.Sent))
		}
	}
	a.Send(petest.Withdrawal(t, bgp.RF_EVPN, []bgp.NLRI{other}))
	c.Until("the withdrawal", func() bool { return h.engine.PeerViews()[0].In == 1 })
	var gone struct {
		Paths     []path
		Withdrawn []struct{ Peer, Endpoint, At string }
	}
	h.must("GET", "/v1/paths?nlri="+url.QueryEscape(other.String()), "", &gone)
	if len(gone.Paths) != 0 || len(gone.Withdrawn) != 1 || gone.Withdrawn[0].Peer != "a" || gone.Withdrawn[0].Endpoint != "ea" || gone.Withdrawn[0].At == "" {
		t.Errorf("of a withdrawn route there is %+v", gone)
	}
	for _, bad := range []string{"", "nlri=", "name=x"} {
		if status, text := h.do("GET", "/v1/paths?"+bad, ""); status != http.StatusBadRequest {
			t.Errorf("%q: %d %s", bad, status, text)
		}
	}
	h.must("GET", "/v1/paths?nlri=00", "", &gone)
	if len(gone.Paths)+len(gone.Withdrawn) != 0 {
		t.Errorf("a route that there is not: %+v", gone)
	}
}
