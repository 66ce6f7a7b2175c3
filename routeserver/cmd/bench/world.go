package main

import (
	"encoding/binary"
	"fmt"

	"weft/routeserver/internal/rawbgp"
)

const asn = 65000

// server is the address on which every daemon listens, on its namespace's loopback.
const server = "127.0.0.1"

// World is the expected state: the pool of each site, and the silent sites.
type World struct {
	pool   []int
	before []int // the pools before the change in flight
	silent []bool
	family *Family
	routes int // of each site
	pools  int
}

func newWorld(c Cell) *World {
	w := &World{silent: make([]bool, c.PEs), family: families[c.Family], routes: c.Routes / c.PEs}
	for i := range c.PEs {
		w.pool = append(w.pool, i/c.Pool)
	}
	w.pools = max(w.pool[c.PEs-1]+1, 2) // with a single pool, changes lead to an empty one and back
	w.before = append([]int(nil), w.pool...)
	return w
}

// wants reports whether PE i should hold the routes of site s.
func (w *World) wants(i, s int) bool { return i != s && w.pool[i] == w.pool[s] && !w.silent[s] }

// allows reports whether PE i may hold routes of site s: now, or before the change in flight.
func (w *World) allows(i, s int) bool {
	return w.pool[i] == w.pool[s] || w.before[i] == w.before[s]
}

// members returns the sites of a pool.
func (w *World) members(pool int) []int {
	var m []int
	for i, p := range w.pool {
		if p == pool {
			m = append(m, i)
		}
	}
	return m
}

// address returns the source address of PE i's session. Its router ID and next hop differ from it in the first byte
// only.
func address(i int) string { return fmt.Sprintf("127.1.%d.%d", i/250, i%250+1) }

func routerID(i int) [4]byte { return [4]byte{10, 1, byte(i / 250), byte(i%250 + 1)} }

// rt returns a site's route target: two-octet AS specific.
func rt(i int) []byte {
	return binary.BigEndian.AppendUint32([]byte{0, 2, asn >> 8, asn & 0xff}, uint32(i+1))
}

// perMessage returns the number of NLRIs in a message, so that it stays below 4,096 bytes.
func (f *Family) perMessage() int { return 3900 / f.size }

// announcements returns the UPDATEs with all routes of site s under a route target.
func (f *Family) announcements(s, routes int, target []byte) []byte {
	var out []byte
	for k := 0; k < routes; k += f.perMessage() {
		id := routerID(s)
		reach := append(f.head(), byte(len(f.hop)+4))
		reach = append(append(append(reach, f.hop...), id[:]...), 0)
		for j := k; j < min(k+f.perMessage(), routes); j++ {
			reach = f.nlri(reach, s, j)
		}
		out = append(out, rawbgp.Update(rawbgp.Attribute(0x40, 1, []byte{0}), rawbgp.Attribute(0x40, 2, nil),
			rawbgp.Attribute(0x40, 5, []byte{0, 0, 0, 100}), rawbgp.Attribute(0x80, 14, reach), rawbgp.Attribute(0xc0, 16, target))...)
	}
	return out
}

// withdrawals returns the UPDATEs that withdraw all routes of site s.
func (f *Family) withdrawals(s, routes int) []byte {
	var out []byte
	for k := 0; k < routes; k += f.perMessage() {
		unreach := f.head()
		for j := k; j < min(k+f.perMessage(), routes); j++ {
			unreach = f.nlri(unreach, s, j)
		}
		out = append(out, rawbgp.Update(rawbgp.Attribute(0x80, 15, unreach))...)
	}
	return out
}

func (f *Family) head() []byte { return []byte{byte(f.afi >> 8), byte(f.afi), f.safi} }

func (f *Family) endOfRIB() []byte { return rawbgp.Update(rawbgp.Attribute(0x80, 15, f.head())) }

var endOfMembership = rawbgp.Update(rawbgp.Attribute(0x80, 15, []byte{0, 1, 132}))

// membership returns PE i's RFC 4684 interest in its own route target.
func membership(i int) []byte {
	id := routerID(i)
	reach := append([]byte{0, 1, 132, 4}, id[:]...)
	reach = append(reach, 0, 96, 0, 0, asn>>8, asn&0xff)
	return rawbgp.Update(rawbgp.Attribute(0x40, 1, []byte{0}), rawbgp.Attribute(0x40, 2, nil), rawbgp.Attribute(0x40, 5, []byte{0, 0, 0, 100}),
		rawbgp.Attribute(0x80, 14, append(reach, rt(i)...)))
}

// open returns an OPEN with the families, route refresh, four-octet AS numbers and 240 s of hold time.
func (f *Family) open(id [4]byte, rtc bool) []byte {
	capabilities := []byte{1, 4, byte(f.afi >> 8), byte(f.afi), 0, f.safi, 2, 0, 65, 4, 0, 0, asn >> 8, asn & 0xff}
	if rtc {
		capabilities = append(capabilities, 1, 4, 0, 1, 0, 132)
	}
	body := append([]byte{4, asn >> 8, asn & 0xff, 0, 240}, id[:]...)
	body = append(body, byte(len(capabilities)+2), 2, byte(len(capabilities)))
	return rawbgp.Message(1, append(body, capabilities...))
}
