package engine

import (
	"fmt"
	"slices"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

// The border of our AS in the second model: some PEs are of other ASes, and some speak no four-octet AS numbers.

const ourAS = 65000

// asOf returns the AS of a PE at one of its addresses.
func asOf(i, net int) uint32 {
	switch {
	case (i+net)%2 == 0:
		return ourAS
	case narrow(peerName(i)):
		return uint32(65001 + i)
	}
	return uint32(4200000001 + i)
}

// narrow says which PEs speak no four-octet AS numbers.
func narrow(peer string) bool { return peer == peerName(1) || peer == peerName(4) }

func (s *speaker) external() bool { return s.from.ASN != ourAS }

// along is what a route is announced with, besides its route targets.
type along struct {
	med   uint32
	stray bool     // has route targets in another attribute, which nobody can rewrite
	path  []uint32 // AS_PATH
	home  bool     // NO_EXPORT

	communities []uint32 // others
}

func (w *world) anyAlong(s *speaker) along {
	a := along{med: uint32(w.r.IntN(2)), home: w.r.IntN(12) == 0, communities: w.anyCommunities()}
	if s.external() {
		a.path = []uint32{s.from.ASN}
	}
	if w.r.IntN(4) == 0 {
		a.path = append(a.path, 64999, 4200000099)
	}
	return a
}

// ineligible gives a route a path that makes it unusable: the route was here before, or the path does not begin with its
// PE's AS.
func (w *world) ineligible(s *speaker, a along) (along, string) {
	if s.external() && w.r.IntN(2) == 0 {
		a.path = append([]uint32{64999}, a.path...)
		return a, "with another first AS"
	}
	a.path = append(slices.Clone(a.path), ourAS)
	return a, "in a loop"
}

// border returns the attributes of an announcement that concern ASes. External PEs send a LOCAL_PREF that must be ignored.
func (s *speaker) border(a along) (list []bgp.PathAttributeInterface) {
	path, path4 := bgp.AsPathParamInterface(bgp.NewAs4PathParam(bgp.BGP_ASPATH_ATTR_TYPE_SEQ, a.path)), bgp.PathAttributeInterface(nil)
	if s.from.TwoOctet {
		short, fits := shortened(a.path)
		path = bgp.NewAsPathParam(bgp.BGP_ASPATH_ATTR_TYPE_SEQ, short)
		if !fits {
			path4 = bgp.NewPathAttributeAs4Path([]*bgp.As4PathParam{bgp.NewAs4PathParam(bgp.BGP_ASPATH_ATTR_TYPE_SEQ, a.path)})
		}
	}
	if len(a.path) == 0 {
		list = append(list, bgp.NewPathAttributeAsPath(nil))
	} else {
		list = append(list, bgp.NewPathAttributeAsPath([]bgp.AsPathParamInterface{path}))
	}
	pref := uint32(100)
	if s.external() {
		pref = 7
	}
	list = append(list, bgp.NewPathAttributeMultiExitDisc(a.med), bgp.NewPathAttributeLocalPref(pref))
	if communities := a.all(); len(communities) > 0 {
		list = append(list, bgp.NewPathAttributeCommunities(communities))
	}
	if path4 != nil {
		list = append(list, path4)
	}
	return list
}

func shortened(path []uint32) (short []uint16, fits bool) {
	fits = true
	for _, asn := range path {
		if asn > 65535 {
			asn, fits = bgp.AS_TRANS, false
		}
		short = append(short, uint16(asn))
	}
	return short, fits
}

// crossed returns what a PE is to see of the attributes that concern ASes.
func crossed(a announcement, to *speaker) string {
	path, med, pref := a.path, fmt.Sprint(a.med), "100"
	if to.external() {
		path, pref = append([]uint32{ourAS}, path...), ""
		if len(a.path) > 0 {
			med = ""
		}
	}
	text, four := spaced(path), ""
	if short, fits := shortened(path); to.from.TwoOctet && !fits {
		text, four = spaced(short), text
	}
	return bordered(med, text, four, pref, !a.external && !to.external())
}

func spaced[T any](list []T) string {
	text := fmt.Sprint(list)
	return text[1 : len(text)-1]
}

func bordered(med, path, path4, pref string, reflected bool) string {
	return fmt.Sprintf("MED %s path %s (%s) pref %s reflected %v", med, path, path4, pref, reflected)
}

// borderOf returns what a PE sees of these attributes.
func borderOf(attributes []bgp.PathAttributeInterface) string {
	med, path, path4, pref, originator, clusters := "", "", "", "", false, false
	for _, a := range attributes {
		switch a := a.(type) {
		case *bgp.PathAttributeMultiExitDisc:
			med = fmt.Sprint(a.Value)
		case *bgp.PathAttributeAsPath:
			path = bgp.AsPathString(a)
		case *bgp.PathAttributeAs4Path:
			path4 = a.String()
		case *bgp.PathAttributeLocalPref:
			pref = fmt.Sprint(a.Value)
		case *bgp.PathAttributeOriginatorId:
			originator = true
		case *bgp.PathAttributeClusterList:
			clusters = true
		}
	}
	if originator != clusters {
		return "half reflected"
	}
	return bordered(med, path, path4, pref, originator)
}
