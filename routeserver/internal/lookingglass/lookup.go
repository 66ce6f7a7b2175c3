package lookingglass

import "weft/routeserver/internal/engine"

// Match is a route that leads to an address.
type Match struct {
	Route
	Pools      []string `json:"pools"`
	Longest    []string `json:"longest_in"`       // pools in which it is a longest match
	Length     *int     `json:"length,omitempty"` // of its prefix in bits
	Recipients int      `json:"recipients"`       // PEs that are sent it
}

// DescribeMatch converts a route that leads to an address for a reply.
func DescribeMatch(m engine.Match) Match {
	d := Match{Route: Describe(m.View), Pools: list(m.Pools), Longest: list(m.Longest), Recipients: m.Recipients}
	if m.Length >= 0 {
		d.Length = &m.Length
	}
	return d
}

// list returns a list that is not null in JSON.
func list(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}
