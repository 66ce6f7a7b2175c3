package ruleset

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Permits are the announce permits of an endpoint: what its routes may contain, beyond the route target. The zero value
// restricts nothing: a controller that does not know of permits sends it.
type Permits struct {
	NextHops Words     `json:"next_hops"`          // the PE's addresses, as next hops and as originators
	Prefixes Words     `json:"prefixes,omitempty"` // of its LAN
	Hosts    Words     `json:"hosts,omitempty"`    // addresses of other LANs that machines at this one have kept
	MACs     Words     `json:"macs,omitempty"`     // its own; others in its pools announce one only if they own it too
	VE       uint16    `json:"ve_id,omitempty"`    // VPLS; 0: any
	Labels   [2]uint32 `json:"labels,omitzero"`    // VPLS: the first and the last label that its PE receives on
	MaxMACs  int       `json:"max_macs,omitempty"` // EVPN; 0: any number
	Flowspec bool      `json:"flowspec,omitempty"` // whether traffic filters may go beside its routes
}

// Words is a list of words that can be compared. In JSON it is an array of strings.
type Words string

// NewWords makes a list.
func NewWords(list ...string) Words { return Words(strings.Join(list, " ")) }

// List returns the words.
func (w Words) List() []string { return strings.Fields(string(w)) }

// MarshalJSON writes the list as an array.
func (w Words) MarshalJSON() ([]byte, error) { return json.Marshal(append([]string{}, w.List()...)) }

// UnmarshalJSON reads an array of words. A word has no space in it.
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

// grant converts permits; it returns nil if there are none.
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

// Reaches reports whether routes may send traffic to an address.
func (g *Grant) Reaches(end netip.Addr) bool { return slices.Contains(g.Ends, end) }

// Holds reports whether a prefix lies in the LAN.
func (g *Grant) Holds(prefix netip.Prefix) bool {
	return slices.ContainsFunc(g.Lans, func(lan netip.Prefix) bool {
		return prefix.Bits() >= lan.Bits() && lan.Contains(prefix.Addr())
	})
}

// Houses reports whether a machine at this endpoint may have the address: it is in the LAN, or the machine has kept it.
func (g *Grant) Houses(address netip.Addr) bool {
	return slices.ContainsFunc(g.Lans, func(lan netip.Prefix) bool { return lan.Contains(address) }) || slices.Contains(g.Kept, address)
}

// Owns reports whether a MAC is listed as one of the endpoint's own.
func (g *Grant) Owns(mac string) bool { return slices.Contains(g.Owned, mac) }
