package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
)

// family is an address family of the region. The NLRIs of a family have one length; the site is in the RD.
type family struct {
	name            string
	afi             uint16
	safi            byte
	siteAt, routeAt int    // offsets in it of the site (four bytes, from 1) and the route (two bytes, from 1)
	nlri            []byte // with zeros at these offsets
}

var families = []*family{
	{name: "vpnv4", afi: 1, safi: 128, siteAt: 8, routeAt: 14, // host routes (RFC 4364 section 4.3.4)
		nlri: []byte{120, 0, 1, 1, 0, 0, asn >> 8, asn & 0xff, 0, 0, 0, 0, 100, 64, 0, 0}},
	{name: "l2vpn-evpn", afi: 25, safi: 70, siteAt: 6, routeAt: 29, // MAC routes (RFC 7432 section 7.2)
		nlri: slices.Concat([]byte{2, 33, 0, 0, asn >> 8, asn & 0xff}, make([]byte, 18), []byte{48, 2, 0, 0, 0, 0, 0, 0, 0, 16, 0})},
	{name: "l2vpn-vpls", afi: 25, safi: 65, siteAt: 6, routeAt: 10, // label blocks (RFC 4761 section 3.2.2)
		nlri: []byte{0, 17, 0, 0, asn >> 8, asn & 0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0, 8, 1, 0, 1}},
}

func (f *family) append(dst []byte, site, route int) []byte {
	start := len(dst)
	dst = append(dst, f.nlri...)
	binary.BigEndian.PutUint32(dst[start+f.siteAt:], uint32(site+1))
	binary.BigEndian.PutUint16(dst[start+f.routeAt:], uint16(route+1))
	return dst
}

// nlris returns those of a site's routes whose bit is set.
func (f *family) nlris(site int, routes uint64) []byte {
	var all []byte
	for k := range 64 {
		if routes>>k&1 == 1 {
			all = f.append(all, site, k)
		}
	}
	return all
}

var errForeign = errors.New("an NLRI arrived that no PE announces")

// each calls a function for each NLRI with its site and the bit of its route.
func (f *family) each(nlris []byte, do func(site int, route uint64)) error {
	for n := len(f.nlri); len(nlris) > 0; nlris = nlris[n:] {
		if len(nlris) < n {
			return errForeign
		}
		site := int(binary.BigEndian.Uint32(nlris[f.siteAt:])) - 1
		route := int(binary.BigEndian.Uint16(nlris[f.routeAt:])) - 1
		if route < 0 || route > 63 || !bytes.Equal(nlris[:n], f.append(nil, site, route)) {
			return errForeign
		}
		do(site, 1<<route)
	}
	return nil
}
