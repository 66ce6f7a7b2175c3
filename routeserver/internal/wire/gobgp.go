package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

// This file alone, except for tests, imports gobgp's codec. It serves what is off the hot path.

// Message encodes an OPEN that offers these families and all our capabilities.
func (o *Open) Message() ([]byte, error) {
	caps := []bgp.ParameterCapabilityInterface{}
	for f := range Families {
		if o.Families[f] {
			caps = append(caps, bgp.NewCapMultiProtocol(bgp.NewFamily(f.AFI(), f.SAFI())))
		}
	}
	caps = append(caps, bgp.NewCapRouteRefresh(), bgp.NewCapEnhancedRouteRefresh(),
		bgp.NewCapFourOctetASNumber(o.ASN), bgp.NewCapExtendedMessage())
	if r := o.Restart; r.Offered {
		var tuples []*bgp.CapGracefulRestartTuple
		for f := range Families {
			if r.Families[f] {
				tuples = append(tuples, bgp.NewCapGracefulRestartTuple(bgp.NewFamily(f.AFI(), f.SAFI()), r.Forwarding[f]))
			}
		}
		caps = append(caps, bgp.NewCapGracefulRestart(r.Restarting, r.Notification, r.Seconds, tuples))
	}
	if r := o.Restart; r.Offered && r.LongLived {
		var tuples []*bgp.CapLongLivedGracefulRestartTuple
		for f := range Families {
			if r.LongStale[f] > 0 {
				seconds := uint32(r.LongStale[f] / time.Second)
				tuples = append(tuples, bgp.NewCapLongLivedGracefulRestartTuple(bgp.NewFamily(f.AFI(), f.SAFI()), r.LongForwarding[f], seconds))
			}
		}
		caps = append(caps, bgp.NewCapLongLivedGracefulRestart(tuples))
	}
	m, err := bgp.NewBGPOpenMessage(twoOctets(o.ASN), o.HoldTime, netip.AddrFrom4(o.ID),
		[]bgp.OptionParameterInterface{bgp.NewOptionParameterCapability(caps)})
	if err != nil {
		return nil, err
	}
	return m.Serialize()
}

// Text returns an NLRI for users. It leaves out a label block, which does not identify a VPLS route; Fields has it.
func (f Family) Text(nlri string) string {
	text := f.Full(nlri)
	if f == VPLS {
		text, _, _ = strings.Cut(text, " (")
	}
	return text
}

// Calls reports whether text is a name of an NLRI: its Text, gobgp's name (with the label block), or its hexadecimal form.
func (f Family) Calls(text, nlri string) bool {
	full := f.Full(nlri)
	name, block, _ := strings.Cut(full, " (")
	return text == full || f == VPLS && block != "" && text == name || text == fmt.Sprintf("%x", nlri)
}

// Mentions reports whether text is a part of an NLRI's full name.
func (f Family) Mentions(text, nlri string) bool { return strings.Contains(f.Full(nlri), text) }

// Full returns gobgp's name of an NLRI, with a label block's size and first label; it begins with Text.
func (f Family) Full(nlri string) string {
	n, err := f.read(nlri)
	if err != nil {
		return fmt.Sprintf("%x", nlri)
	}
	return n.String()
}

// read reads an NLRI with gobgp, except for filters that gobgp (up to 4.8) misreads: those of 240 bytes and more, and
// those with an IPv6 prefix that does not begin with the first bit.
func (f Family) read(nlri string) (bgp.NLRI, error) {
	if f.Flow() && (nlri[0] >= flowLong || f.flowOffset(nlri)) {
		return nil, errors.New("a filter that gobgp does not read as RFC 8955 and 8956 ask")
	}
	return bgp.NLRIFromSlice(bgp.NewFamily(f.AFI(), f.SAFI()), []byte(nlri))
}

// filter returns the components of a traffic filter for users.
func (f Family) filter(nlri string) []string {
	n, err := f.read(nlri)
	if err != nil {
		return []string{fmt.Sprintf("%x", nlri)}
	}
	parts := []string{}
	for _, c := range n.(*bgp.FlowSpecNLRI).Value {
		parts = append(parts, strings.TrimSpace(c.String()))
	}
	return parts
}

// Describe returns the received attributes by name, as JSON values, without MP_REACH_NLRI.
func (a *Attributes) Describe() map[string]any {
	described := map[string]any{}
	add := func(name string, encoded []byte) {
		p, err := bgp.GetPathAttribute(encoded)
		if err == nil {
			err = p.DecodeFromBytes(encoded)
		}
		if err != nil {
			described[name] = err.Error()
			return
		}
		if text, err := json.Marshal(p); err == nil {
			described[name] = json.RawMessage(text)
		}
	}
	EachAttribute(a.Path, func(_, kind uint8, _, whole string) { add(attributeName(kind), []byte(whole)) })
	if a.Originator != "" {
		described["originator_id"] = netip.AddrFrom4([4]byte([]byte(a.Originator))).String()
	}
	if list := a.Clusters(); len(list) > 0 {
		described["cluster_list"] = list
	}
	communities := []string{}
	for i := 0; i+8 <= len(a.Communities); i += 8 {
		if c, err := bgp.ParseExtended([]byte(a.Communities[i : i+8])); err == nil {
			communities = append(communities, c.String())
		}
	}
	if len(communities) > 0 {
		described["extended_communities"] = communities
	}
	return described
}
