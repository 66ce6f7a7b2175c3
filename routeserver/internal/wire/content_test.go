package wire

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// sameContent compares the Content by which the route server judges an NLRI with the Fields that users see.
func sameContent(t *testing.T, f Family, nlri string) {
	t.Helper()
	c, fields := f.Content(nlri), f.Fields(nlri)
	have := map[string]any{}
	put := func(name string, there bool, value any) {
		if there {
			have[name] = value
		}
	}
	put("ve_id", f == VPLS, c.VE)
	put("label_base", f == VPLS, int(c.Labels[0]))
	put("type", c.Type != 0, c.Type)
	put("mac", c.MAC != "", macText(c.MAC))
	put("ip", c.Address.IsValid(), c.Address.String())
	put("prefix", c.Prefix.IsValid() && f == EVPN, c.Prefix.String())
	put("prefix", c.Prefix.IsValid() && f != EVPN, c.Prefix.Masked().String())
	put("gateway", c.Gateway.IsValid(), c.Gateway.String())
	for _, name := range []string{"ve_id", "label_base", "type", "mac", "ip", "prefix", "gateway"} {
		want, there := fields[name]
		if there && name == "gateway" && netip.MustParseAddr(want.(string)).IsUnspecified() {
			there, want = false, nil
		}
		if have[name] != want || (have[name] != nil) != there {
			t.Fatalf("%s %x: %s is %v, and %v to people", f, nlri, name, have[name], want)
		}
	}
	if esi, there := fields["esi"].(string); f == EVPN && c.Segment != (there && (strings.Trim(esi, "0") != "" || c.Type == 1 || c.Type == 4)) {
		t.Fatalf("%x: segment %v, ESI %s", nlri, c.Segment, esi)
	}
}

func macText(mac string) string {
	var parts []string
	for i := range len(mac) {
		parts = append(parts, fmt.Sprintf("%02x", mac[i]))
	}
	return strings.Join(parts, ":")
}

func TestContent(t *testing.T) {
	for f, list := range samples(t) {
		u := mustParse(t, message(t, f, list))
		if len(u.Reach) == 0 {
			t.Errorf("%s: there are no samples", f)
		}
		for _, nlri := range u.Reach {
			sameContent(t, u.ReachFamily, nlri)
		}
	}
}

func TestEndsOfTraffic(t *testing.T) {
	four, six := "\x0a\x00\x00\x01", "\x20\x01\x0d\xb8"+strings.Repeat("\x00", 11)+"\x01"
	local := "\xfe\x80" + strings.Repeat("\x00", 13) + "\x01"
	mapped := strings.Repeat("\x00", 10) + "\xff\xff" + four
	rd := strings.Repeat("\x00", 8)
	with := func(kind uint8, value string) string {
		return string(appendAttribute(nil, flagOptional|flagTransitive, kind, []byte(value)))
	}
	egress := func(sub string) string { return with(attrTunnelEncap, "\x00\x08\x00"+string(rune(len(sub)))+sub) }
	for name, c := range map[string]struct {
		a    Attributes
		want []string
	}{
		"none":                       {Attributes{}, nil},
		"IPv4":                       {Attributes{NextHop: four}, []string{"10.0.0.1"}},
		"IPv6":                       {Attributes{NextHop: six}, []string{"2001:db8::1"}},
		"global and link-local":      {Attributes{NextHop: six + local}, []string{"2001:db8::1"}},
		"mapped":                     {Attributes{NextHop: mapped}, []string{"10.0.0.1"}},
		"of a VPN":                   {Attributes{NextHop: rd + four}, []string{"10.0.0.1"}},
		"of a VPN, two":              {Attributes{NextHop: rd + six + rd + local}, []string{"2001:db8::1"}},
		"ingress replication":        {Attributes{NextHop: four, Path: with(attrPMSI, "\x00\x06\x00\x00\x07"+six)}, []string{"10.0.0.1", "2001:db8::1"}},
		"another tunnel":             {Attributes{Path: with(attrPMSI, "\x00\x03\x00\x00\x07"+six)}, nil},
		"a tunnel that says nothing": {Attributes{Path: with(attrPMSI, "\x00\x06\x00\x00\x07")}, []string{"invalid IP"}},
		"egress":                     {Attributes{Path: egress("\x06\x0a\x00\x00\x00\x00\x00\x01" + four)}, []string{"10.0.0.1"}},
		"egress after another":       {Attributes{Path: egress("\x04\x02ab\x06\x0a\x00\x00\x00\x00\x00\x01" + four)}, []string{"10.0.0.1"}},
		"egress after a long one":    {Attributes{Path: egress("\x80\x00\x02ab\x06\x0a\x00\x00\x00\x00\x00\x01" + four)}, []string{"10.0.0.1"}},
		"egress at the next hop":     {Attributes{Path: egress("\x06\x06\x00\x00\x00\x00\x00\x00")}, nil},
		"egress cut off":             {Attributes{Path: egress("\x06\x0a\x00\x00\x00\x00\x00\x01\x0a")}, []string{"invalid IP"}},
	} {
		var have []string
		c.a.Ends(func(end netip.Addr) { have = append(have, end.String()) })
		if !slices.Equal(have, c.want) {
			t.Errorf("%s: %q, not %q", name, have, c.want)
		}
	}
}

func TestContentAllocatesNothing(t *testing.T) {
	var all []string
	for f, list := range samples(t) {
		u := mustParse(t, message(t, f, list))
		all = append(all, u.Reach...)
		if n := testing.AllocsPerRun(100, func() {
			for _, nlri := range u.Reach {
				_ = u.ReachFamily.Content(nlri)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations", u.ReachFamily, n)
		}
	}
	if len(all) == 0 {
		t.Error("nothing was looked at")
	}
}
