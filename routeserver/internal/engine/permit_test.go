package engine

import (
	"net/netip"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

const (
	sitesOwnMAC, othersOwnMAC, machineMAC = "02:57:00:00:00:01", "02:57:00:00:00:02", "02:00:00:00:00:07"
	othersMachineMAC, movingMAC           = "02:00:00:00:00:08", "02:00:00:00:00:09"
)

// permitted returns a rule set with a site of every main family. A further one, "other", shares a pool with the EVPN site,
// and one is in no pool.
func permitted(t testing.TB) *ruleset.Set {
	t.Helper()
	permits := ruleset.Permits{
		NextHops: ruleset.NewWords("10.0.0.1", "2001:db8::1"), Prefixes: ruleset.NewWords("10.1.0.0/24", "2001:db8:1::/64"),
		Hosts: ruleset.NewWords("10.2.0.9", "2001:db8:2::9"), MACs: ruleset.NewWords(sitesOwnMAC, movingMAC), VE: 7, Labels: [2]uint32{4096, 8192},
	}
	d := &ruleset.Document{Peers: []ruleset.Peer{{Name: "pe", Address: "10.0.0.1", ASN: 65000}}, Vcps: []ruleset.Vcp{{Name: "pool", Members: []string{"l2vpn-evpn", "other"}}}}
	for i, f := range mainFamilies {
		rt := "65000:" + string(rune('1'+i))
		d.Endpoints = append(d.Endpoints, ruleset.Endpoint{Name: f.String(), Peer: "pe", Family: f.String(), RT: rt, RD: rt, Permits: permits})
	}
	permits.MACs = ruleset.NewWords(othersOwnMAC, othersMachineMAC, movingMAC)
	d.Endpoints = append(d.Endpoints, ruleset.Endpoint{Name: "other", Peer: "pe", Family: "l2vpn-evpn", RT: "65000:8", RD: "65000:8", Permits: permits})
	permits.MACs = ruleset.NewWords(machineMAC)
	d.Endpoints = append(d.Endpoints, ruleset.Endpoint{Name: "apart", Peer: "pe", Family: "l2vpn-evpn", RT: "65000:9", RD: "65000:9", Permits: permits})
	set, err := ruleset.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// evpn makes an NLRI; the route distinguisher is of type 0.
func evpn(kind byte, rd byte, rest string) string {
	v := "\x00\x00\xfd\xe8\x00\x00\x00" + string(rune(rd)) + rest
	return string([]byte{kind, byte(len(v))}) + v
}

func raw(t testing.TB, nlri bgp.NLRI, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	data, err := nlri.Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

const noESI, noTag = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "\x00\x00\x00\x00"

func TestWhatASiteMayAnnounce(t *testing.T) {
	set := permitted(t)
	block := func(rd string, ve, size uint16, base uint32) string {
		d, err := bgp.ParseRouteDistinguisher(rd)
		return raw(t, bgp.NewVPLSNLRI(d, ve, 1, size, base), err)
	}
	vpn := func(rd, prefix string) string {
		d, err := bgp.ParseRouteDistinguisher(rd)
		if err != nil {
			t.Fatal(err)
		}
		nlri, err := bgp.NewLabeledVPNIPAddrPrefix(netip.MustParsePrefix(prefix), *bgp.NewMPLSLabelStack(7), d)
		return raw(t, nlri, err)
	}
	machine := func(rd, mac, ip string, esi byte) string {
		d, err := bgp.ParseRouteDistinguisher(rd)
		if err != nil {
			t.Fatal(err)
		}
		var address netip.Addr
		if ip != "" {
			address = netip.MustParseAddr(ip)
		}
		segment := bgp.EthernetSegmentIdentifier{Type: bgp.ESI_ARBITRARY, Value: []byte{0, 0, 0, 0, 0, 0, 0, 0, esi}}
		nlri, err := bgp.NewEVPNMacIPAdvertisementRoute(d, segment, 0, mac, address, []uint32{7})
		return raw(t, nlri, err)
	}
	prefix := func(network, gateway string, bits, segment byte) string {
		return evpn(5, 2, "\x00\x00\x00\x00\x00\x00\x00\x00\x00"+string(rune(segment))+noTag+string(rune(bits))+network+gateway+"\x00\x00\x07")
	}
	const none = "\x00\x00\x00\x00"
	for name, c := range map[string]struct {
		family wire.Family
		nlri   string
		want   rib.Reason
	}{
		"its block":                             {wire.VPLS, block("65000:1", 7, 64, 4097), ""},
		"its last block":                        {wire.VPLS, block("65000:1", 7, 64, 4096+4033), ""},
		"another's RD":                          {wire.VPLS, block("65000:2", 7, 64, 4097), rib.ForeignRD},
		"another's VE ID":                       {wire.VPLS, block("65000:1", 8, 64, 4097), rib.ForeignVE},
		"labels of another LAN":                 {wire.VPLS, block("65000:1", 7, 64, 8192), rib.Labels},
		"labels that begin too early":           {wire.VPLS, block("65000:1", 7, 64, 4095), rib.Labels},
		"labels that end too late":              {wire.VPLS, block("65000:1", 7, 4098, 4096), rib.Labels},
		"its prefix":                            {wire.VPNv4, vpn("65000:3", "10.1.0.0/24"), ""},
		"a part of it":                          {wire.VPNv4, vpn("65000:3", "10.1.0.128/25"), ""},
		"a wider one":                           {wire.VPNv4, vpn("65000:3", "10.0.0.0/15"), rib.ForeignPrefix},
		"the default route":                     {wire.VPNv4, vpn("65000:3", "0.0.0.0/0"), rib.ForeignPrefix},
		"another's prefix":                      {wire.VPNv4, vpn("65000:3", "10.2.0.0/24"), rib.ForeignPrefix},
		"of another RD":                         {wire.VPNv4, vpn("65000:4", "10.1.0.0/24"), rib.ForeignRD},
		"its IPv6 prefix":                       {wire.VPNv6, vpn("65000:4", "2001:db8:1::/64"), ""},
		"another's IPv6 prefix":                 {wire.VPNv6, vpn("65000:4", "2001:db8:2::/64"), rib.ForeignPrefix},
		"a MAC":                                 {wire.EVPN, machine("65000:2", machineMAC, "", 0), ""},
		"a MAC of another RD":                   {wire.EVPN, machine("65000:8", machineMAC, "", 0), rib.ForeignRD},
		"a MAC and an address":                  {wire.EVPN, machine("65000:2", machineMAC, "10.1.0.7", 0), ""},
		"an IPv6 address":                       {wire.EVPN, machine("65000:2", machineMAC, "2001:db8:1::7", 0), ""},
		"a link-local address":                  {wire.EVPN, machine("65000:2", machineMAC, "fe80::7", 0), ""},
		"an address that it has kept":           {wire.EVPN, machine("65000:2", machineMAC, "10.2.0.9", 0), ""},
		"an IPv6 address that it has kept":      {wire.EVPN, machine("65000:2", machineMAC, "2001:db8:2::9", 0), ""},
		"its neighbour there":                   {wire.EVPN, machine("65000:2", machineMAC, "10.2.0.8", 0), rib.ForeignAddress},
		"an IPv6 address of nobody":             {wire.EVPN, machine("65000:2", machineMAC, "2001:db8:9::9", 0), rib.ForeignAddress},
		"its gateway":                           {wire.EVPN, machine("65000:2", sitesOwnMAC, "10.1.0.1", 0), ""},
		"another's gateway":                     {wire.EVPN, machine("65000:2", othersOwnMAC, "", 0), rib.ForeignMAC},
		"another's gateway, with its address":   {wire.EVPN, machine("65000:2", othersOwnMAC, "10.1.0.1", 0), rib.ForeignMAC},
		"another's machine":                     {wire.EVPN, machine("65000:2", othersMachineMAC, "", 0), rib.ForeignMAC},
		"another's machine, at an address here": {wire.EVPN, machine("65000:2", othersMachineMAC, "10.1.0.8", 0), rib.ForeignMAC},
		"a machine on its way here":             {wire.EVPN, machine("65000:2", movingMAC, "10.2.0.9", 0), ""},
		"a group's MAC":                         {wire.EVPN, machine("65000:2", "01:00:5e:00:00:01", "", 0), rib.ForeignMAC},
		"no MAC":                                {wire.EVPN, machine("65000:2", "00:00:00:00:00:00", "", 0), rib.ForeignMAC},
		"a MAC on a segment":                    {wire.EVPN, machine("65000:2", machineMAC, "", 1), rib.Segment},
		"a segment":                             {wire.EVPN, evpn(4, 2, noESI+"\x20\x0a\x00\x00\x01"), rib.Segment},
		"auto-discovery of a segment":           {wire.EVPN, evpn(1, 2, noESI+noTag+"\x00\x00\x07"), rib.Segment},
		"its originator":                        {wire.EVPN, evpn(3, 2, noTag+"\x20\x0a\x00\x00\x01"), ""},
		"another originator":                    {wire.EVPN, evpn(3, 2, noTag+"\x20\x0a\x00\x00\x02"), rib.Originator},
		"multicast membership":                  {wire.EVPN, evpn(6, 2, noTag), rib.RouteType},
		"type 5":                                {wire.EVPN, prefix("\x0a\x01\x00\x00", none, 24, 0), ""},
		"type 5 with a gateway":                 {wire.EVPN, prefix("\x0a\x01\x00\x00", "\x0a\x01\x00\x01", 24, 0), ""},
		"type 5 with another's gateway":         {wire.EVPN, prefix("\x0a\x01\x00\x00", "\x0a\x02\x00\x01", 24, 0), rib.ForeignPrefix},
		"type 5 of another prefix":              {wire.EVPN, prefix("\x0a\x02\x00\x00", none, 24, 0), rib.ForeignPrefix},
		"type 5, the default route":             {wire.EVPN, prefix(none, none, 0, 0), rib.ForeignPrefix},
		"type 5 on a segment":                   {wire.EVPN, prefix("\x0a\x01\x00\x00", none, 24, 1), rib.Segment},
	} {
		site := set.Site(c.family.String())
		if have := Permit(set, site, c.family, c.nlri); have != c.want {
			t.Errorf("%s: %q, not %q", name, have, c.want)
		}
		free := *site
		free.Grant = nil
		if have := Permit(set, &free, c.family, c.nlri); have != "" {
			t.Errorf("%s, without permits: %q", name, have)
		}
	}
	if have := Permit(set, set.Site("apart"), wire.EVPN, machine("65000:9", othersOwnMAC, "", 0)); have != "" {
		t.Errorf("a MAC of a pool that it is not in: %q", have)
	}
}

func TestWhereASiteMaySendTrafficTo(t *testing.T) {
	set := permitted(t)
	rt, _ := wire.ParseRT("65000:2")
	with := func(hop, path string) *wire.Attributes {
		return &wire.Attributes{RTs: string(rt[:]), NextHop: hop, Path: path}
	}
	for name, c := range map[string]struct {
		family wire.Family
		a      *wire.Attributes
		want   rib.Reason
	}{
		"its PE":                     {wire.EVPN, with("\x0a\x00\x00\x01", ""), ""},
		"another PE":                 {wire.EVPN, with("\x0a\x00\x00\x02", ""), rib.NextHop},
		"a tunnel that ends there":   {wire.EVPN, with("\x0a\x00\x00\x01", "\xc0\x16\x09\x00\x06\x00\x00\x07\x0a\x00\x00\x02"), rib.NextHop},
		"a tunnel that ends here":    {wire.EVPN, with("\x0a\x00\x00\x01", "\xc0\x16\x09\x00\x06\x00\x00\x07\x0a\x00\x00\x01"), ""},
		"a tunnel that ends nowhere": {wire.EVPN, with("\x0a\x00\x00\x01", "\xc0\x16\x05\x00\x06\x00\x00\x07"), rib.NextHop},
		"a filter":                   {wire.Flow4, with("", ""), rib.Flowspec},
	} {
		if _, have := Judge(set, "pe", c.family, c.a); have != c.want {
			t.Errorf("%s: %q, not %q", name, have, c.want)
		}
	}
}

// TestPermitsCostNoMemory checks that a new route is judged without an allocation.
func TestPermitsCostNoMemory(t *testing.T) {
	set := permitted(t)
	site := set.Site("l2vpn-evpn")
	nlri := evpn(2, 2, noESI+noTag+"\x30\x02\x00\x00\x00\x00\x07\x20\x0a\x01\x00\x07\x00\x00\x07")
	if n := testing.AllocsPerRun(100, func() {
		if reason := Permit(set, site, wire.EVPN, nlri); reason != "" {
			t.Fatal(reason)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
