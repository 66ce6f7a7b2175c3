package main

import (
	"encoding/binary"

	"weft/routeserver/internal/rawbgp"
)

const asn = 65000

// target returns a site's route target: two-octet AS specific.
func target(site int) []byte {
	return binary.BigEndian.AppendUint32([]byte{0, 2, asn >> 8, asn & 0xff}, uint32(site+1))
}

// identifier returns a site's BGP identifier and next hop.
func identifier(site int) [4]byte { return [4]byte{10, 1, byte(site / 250), byte(site%250 + 1)} }

// announcement returns an UPDATE with routes of a site. med makes attributes differ; more are additional attributes.
func announcement(f *family, site int, routes uint64, med byte, more ...[]byte) []byte {
	if routes == 0 {
		return nil
	}
	id := identifier(site)
	hop := id[:]
	if f.safi == 128 { // with an RD before it (RFC 4364 section 4.3.2)
		hop = append(make([]byte, 8), id[:]...)
	}
	reach := append([]byte{byte(f.afi >> 8), byte(f.afi), f.safi, byte(len(hop))}, hop...)
	reach = append(append(reach, 0), f.nlris(site, routes)...)
	return rawbgp.Update(append(more, rawbgp.Attribute(0x40, 1, []byte{0}), rawbgp.Attribute(0x40, 2, nil), rawbgp.Attribute(0x80, 4, []byte{0, 0, 0, med}),
		rawbgp.Attribute(0x40, 5, []byte{0, 0, 0, 100}), rawbgp.Attribute(0x80, 14, reach), rawbgp.Attribute(0xc0, 16, target(site)))...)
}

// withdrawal returns an UPDATE that withdraws routes; without routes it is End-of-RIB.
func withdrawal(f *family, site int, routes uint64) []byte {
	return rawbgp.Update(rawbgp.Attribute(0x80, 15, append([]byte{byte(f.afi >> 8), byte(f.afi), f.safi}, f.nlris(site, routes)...)))
}

// refresh returns a ROUTE-REFRESH: 0 asks for routes, 1 begins a refresh and 2 ends it (RFC 7313).
func refresh(f *family, kind byte) []byte {
	return rawbgp.Message(rawbgp.TypeRefresh, []byte{byte(f.afi >> 8), byte(f.afi), kind, f.safi})
}

// open returns a site's OPEN: its family, route refresh, four-octet AS numbers, and graceful restart if the site has
// it.
func open(f *family, site int, graceful bool) []byte {
	capabilities := []byte{1, 4, byte(f.afi >> 8), byte(f.afi), 0, f.safi, 2, 0, 70, 0, 65, 4, 0, 0, asn >> 8, asn & 0xff}
	if graceful {
		capabilities = append(capabilities, 64, 6, 0, 60, byte(f.afi>>8), byte(f.afi), f.safi, 0x80)
	}
	id := identifier(site)
	body := append([]byte{4, asn >> 8, asn & 0xff, 0, 180}, id[:]...)
	body = append(body, byte(len(capabilities)+2), 2, byte(len(capabilities)))
	return rawbgp.Message(rawbgp.TypeOpen, append(body, capabilities...))
}
