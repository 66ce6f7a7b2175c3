package control

import (
	"net"
	"net/http"
	"net/netip"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/lookingglass"
)

// lookup returns the routes that lead to an address, a prefix or a MAC address.
func (s *Server) lookup(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if err := unknown(q, "address", "prefix", "mac"); err != nil {
		s.failWith(w, err)
		return
	}
	if len(q) != 1 {
		fail(w, http.StatusBadRequest, "invalid", "address", "address: give one of address, prefix and mac")
		return
	}
	wanted := engine.Lookup{Limit: routeLimit}
	bad := func(field, what string) {
		fail(w, http.StatusBadRequest, "invalid", field, field+": "+q.Get(field)+" is not "+what)
	}
	switch {
	case q.Has("mac"):
		mac, err := net.ParseMAC(q.Get("mac"))
		if err != nil || len(mac) != 6 {
			bad("mac", "a MAC address")
			return
		}
		wanted.MAC = string(mac)
	case q.Has("prefix"):
		prefix, err := netip.ParsePrefix(q.Get("prefix"))
		if err != nil || prefix != prefix.Masked() {
			bad("prefix", "a prefix, such as 10.1.0.0/24, without host bits")
			return
		}
		wanted.Prefix = prefix
	default:
		address, err := netip.ParseAddr(q.Get("address"))
		if err != nil || address.Zone() != "" {
			bad("address", "an IP address")
			return
		}
		address = address.Unmap()
		wanted.Prefix = netip.PrefixFrom(address, address.BitLen())
	}
	matches, bare, more := s.Engine.Lookup(wanted)
	list, cut, err := fitting(len(matches), func(i int) lookingglass.Match { return lookingglass.DescribeMatch(matches[i]) })
	if err != nil {
		s.failWith(w, err)
		return
	}
	reply(w, http.StatusOK, map[string]any{"routes": list, "truncated": more || cut, "vpls_routes": bare})
}

// paths returns all announcements of one route, and what others are sent of it.
func (s *Server) paths(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if err := unknown(q, "nlri"); err != nil {
		s.failWith(w, err)
		return
	}
	if q.Get("nlri") == "" {
		fail(w, http.StatusBadRequest, "invalid", "nlri", "nlri: the name of a route is missing")
		return
	}
	found := s.Engine.Paths(q.Get("nlri"), routeLimit)
	list, cut, err := fitting(len(found.Paths), func(i int) lookingglass.Path { return lookingglass.DescribePath(found.Paths[i]) })
	if err != nil {
		s.failWith(w, err)
		return
	}
	gone := []lookingglass.GonePath{}
	for _, g := range found.Gone[:min(len(found.Gone), routeLimit)] {
		gone = append(gone, lookingglass.DescribeGone(g))
	}
	reply(w, http.StatusOK, map[string]any{"paths": list, "withdrawn": gone, "truncated": found.More || cut})
}
