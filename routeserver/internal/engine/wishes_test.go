package engine

import (
	"fmt"
	"net/netip"
	"sort"
	"strconv"
	"strings"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/wire"
)

// Requests of PEs by RT-Constrain.

// wish is a PE's request for the route targets that begin with this many bits of an origin AS and a route target.
type wish struct {
	as   uint32
	rt   string
	bits int // 0, 32, 92 (all but the last four bits of the number), 96
}

func (x wish) covers(rt string) bool {
	switch x.bits {
	case 0, 32:
		return true
	case 96:
		return rt == x.rt
	}
	return number(rt)>>4 == number(x.rt)>>4
}

func number(rt string) int {
	_, text, _ := strings.Cut(rt, ":")
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func (x wish) nlri() []byte {
	n := number(x.rt)
	all := []byte{byte(x.bits), byte(x.as >> 24), byte(x.as >> 16), byte(x.as >> 8), byte(x.as),
		0, 2, 0xfd, 0xe8, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
	return all[:1+(x.bits+7)/8]
}

// wants reports whether a PE gets routes with a route target, by what it asked for.
func (s *speaker) wants(rt string) bool {
	if !s.constrains {
		return true
	}
	for x := range s.wishes {
		if s.settled && x.covers(rt) {
			return true
		}
	}
	return false
}

func (s *speaker) sendWish(x wish, withdraw bool) {
	nlri, err := bgp.NLRIFromSlice(bgp.RF_RTC_UC, x.nlri())
	if err != nil {
		s.t.Fatal(err)
	}
	path := []bgp.PathNLRI{{NLRI: nlri}}
	var attributes []bgp.PathAttributeInterface
	if withdraw {
		unreach, err := bgp.NewPathAttributeMpUnreachNLRI(bgp.RF_RTC_UC, path)
		if err != nil {
			s.t.Fatal(err)
		}
		attributes = append(attributes, unreach)
	} else {
		reach, err := bgp.NewPathAttributeMpReachNLRI(bgp.RF_RTC_UC, path, netip.MustParseAddr("192.0.2.1"))
		if err != nil {
			s.t.Fatal(err)
		}
		how := along{}
		if s.external() {
			how.path = []uint32{s.from.ASN}
		}
		attributes = append(append(attributes, bgp.NewPathAttributeOrigin(0), reach), s.border(how)...)
	}
	message := s.message(attributes)
	if !withdraw && s.spoil {
		message = spoilt(message)
	}
	s.send(message)
}

func (s *speaker) sortedWishes() []wish {
	var list []wish
	for x := range s.wishes {
		list = append(list, x)
	}
	sort.Slice(list, func(i, j int) bool { return fmt.Sprint(list[i]) < fmt.Sprint(list[j]) })
	return list
}

// constrain makes a PE that speaks RT-Constrain send something about its wishes.
func (w *world) constrain() string {
	s := w.anySpeaker()
	for tries := 0; s != nil && !s.constrains && tries < 5; tries++ {
		s = w.anySpeaker()
	}
	if s == nil || !s.constrains {
		return "nothing"
	}
	x := wish{65000 + uint32(w.r.IntN(2)), anyTarget(w), 96}
	switch w.r.IntN(8) {
	case 0:
		x.bits = 92
		x.rt = fmt.Sprintf("65000:%d", number(x.rt)&^15)
	case 1:
		x = wish{x.as, "0:0", 32}
	case 2:
		x = wish{0, "0:0", 0}
	}
	list := s.sortedWishes()
	switch n := w.r.IntN(10); {
	case n < 3 || !s.settled && n < 6:
		s.settled = true
		s.send(wire.EndOfRIB(wire.RTC))
		return s.name + " has said which routes it wants"
	case n < 5 && len(list) > 0:
		x = list[w.r.IntN(len(list))]
		delete(s.wishes, x)
		s.sendWish(x, true)
		return fmt.Sprintf("%s does not want %v any more", s.name, x)
	case n == 5: // an UPDATE that is treated as a withdrawal
		if len(list) > 0 {
			x = list[0]
		}
		delete(s.wishes, x)
		s.spoil = true
		s.sendWish(x, false)
		s.spoil = false
		return fmt.Sprintf("%s sends a malformed UPDATE for %v", s.name, x)
	case n == 6 || n == 7:
		w.engine.Refresh(s.peer, wire.RTC, wire.RefreshBegin, true)
		for _, x := range list {
			if w.r.IntN(2) == 0 {
				s.sendWish(x, false)
			} else {
				delete(s.wishes, x)
			}
		}
		w.engine.Refresh(s.peer, wire.RTC, wire.RefreshEnd, true)
		return s.name + " says again what it wants"
	}
	s.wishes[x] = true
	s.sendWish(x, false)
	return fmt.Sprintf("%s wants %v", s.name, x)
}
