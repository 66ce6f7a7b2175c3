package ruleset

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Permits are what the routes of an endpoint may say, beyond its route target. The zero value says nothing, and then
// nothing more is asked of them: so it is for a controller that does not know of permits.
type Permits struct {
	NextHops Words     `json:"next_hops"`          // where traffic may be sent to: its PE's addresses, also as originators
	Prefixes Words     `json:"prefixes,omitempty"` // of its LAN
	Hosts    Words     `json:"hosts,omitempty"`    // addresses of other LANs that machines at this one have kept
	MACs     Words     `json:"macs,omitempty"`     // that no other endpoint of its pools may announce, unless it has them too
	VE       uint16    `json:"ve_id,omitempty"`    // VPLS; 0: any
	Labels   [2]uint32 `json:"labels,omitzero"`    // VPLS: the first and the last that its PE receives on
	MaxMACs  int       `json:"max_macs,omitempty"` // EVPN; 0: any number
	Flowspec bool      `json:"flowspec,omitempty"` // traffic filters may go beside its routes
}

// Words is a list of words that can be compared; a JSON array of strings.
type Words string

// NewWords makes a list.
func NewWords(list ...string) Words { return Words(strings.Join(list, " ")) }

// List gives the words.
func (w Words) List() []string { return strings.Fields(string(w)) }

// MarshalJSON writes the list as an array.
func (w Words) MarshalJSON() ([]byte, error) { return json.Marshal(append([]string{}, w.List()...)) }

// UnmarshalJSON reads an array of words, none of which has a space in it.
func (w *Words) UnmarshalJSON(data []byte) error {
	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	for _, word := range list {
		if len(strings.Fields(word)) != 1 || strings.TrimSpace(word) != word {
			return fmt.Errorf("%q is not one word", word)
		}
	}
	*w = NewWords(list...)
	return nil
}

// Grant is Permits in wire form.
type Grant struct {
	Permits
	Ends  []netip.Addr
	Lans  []netip.Prefix
	Kept  []netip.Addr
	Owned []string // MACs, six bytes each
}

// grant reads permits; nil if there are none.
func (p Permits) grant() (*Grant, error) {
	if p == (Permits{}) {
		return nil, nil
	}
	g := &Grant{Permits: p}
	for _, text := range p.NextHops.List() {
		address, err := netip.ParseAddr(text)
		if err != nil || address.Zone() != "" {
			return nil, invalid("next_hops", "%q is not an IP address", text)
		}
		g.Ends = append(g.Ends, address.Unmap())
	}
	if len(g.Ends) == 0 {
		return nil, invalid("next_hops", "there is none, and no route could be announced")
	}
	for _, text := range p.Prefixes.List() {
		prefix, err := netip.ParsePrefix(text)
		if err != nil || prefix != prefix.Masked() {
			return nil, invalid("prefixes", "%q is not a prefix", text)
		}
		g.Lans = append(g.Lans, prefix)
	}
	for _, text := range p.Hosts.List() {
		address, err := netip.ParseAddr(text)
		if err != nil || address.Zone() != "" {
			return nil, invalid("hosts", "%q is not an IP address", text)
		}
		g.Kept = append(g.Kept, address)
	}
	for _, text := range p.MACs.List() {
		mac, err := net.ParseMAC(text)
		if err != nil || len(mac) != 6 {
			return nil, invalid("macs", "%q is not a MAC address", text)
		}
		g.Owned = append(g.Owned, string(mac))
	}
	if p.Labels[0] > p.Labels[1] {
		return nil, invalid("labels", "%d is after %d", p.Labels[0], p.Labels[1])
	}
	if p.MaxMACs < 0 {
		return nil, invalid("max_macs", "%d is less than 0", p.MaxMACs)
	}
	return g, nil
}

// Reaches says whether traffic may be sent to an address.
func (g *Grant) Reaches(end netip.Addr) bool { return slices.Contains(g.Ends, end) }

// Holds says whether a prefix lies in the LAN.
func (g *Grant) Holds(prefix netip.Prefix) bool {
	return slices.ContainsFunc(g.Lans, func(lan netip.Prefix) bool {
		return prefix.Bits() >= lan.Bits() && lan.Contains(prefix.Addr())
	})
}

// Houses says whether a machine with this address may be here: in the LAN, or because it has kept it.
func (g *Grant) Houses(address netip.Addr) bool {
	return slices.ContainsFunc(g.Lans, func(lan netip.Prefix) bool { return lan.Contains(address) }) || slices.Contains(g.Kept, address)
}

// Owns says whether a MAC is listed as one of the endpoint's own.
func (g *Grant) Owns(mac string) bool { return slices.Contains(g.Owned, mac) }
