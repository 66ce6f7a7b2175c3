package engine

import (
	"encoding/binary"
	"fmt"
	"time"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/wire"
)

// headOfUpdate is the length of an UPDATE without withdrawn routes before its path attributes: the header, and two lengths.
const headOfUpdate = wire.HeaderLength + 4

// likeliestLast sorts the suspects of a new search: those that are unlike everything that the peer has tolerated come last.
// unlike is their number. Routes of a known kind hardly ever end a session: a daemon with a defect fails on a route of a
// new kind. The order only decides what is tried first. A suspect is cleared only when the peer tolerates it.
func (lr *locRIB) likeliestLast(p *Peer, suspects []digest) (sorted []digest, unlike int) {
	if len(suspects) < 2 {
		return suspects, 0
	}
	g := lr.guards[p.Name]
	borne := map[string]bool{}
	after, _ := p.Queue.Lately(now().Add(-g.settle))
	suspected := map[routeName]bool{}
	for _, d := range suspects {
		suspected[g.suspects[d].routeName] = true
	}
	kinds := map[routeName]string{}
	forms := map[formKey]string{} // a peer may have many routes, of few forms
	for _, r := range lr.between(p, time.Time{}, now()) {
		name := r.routeName
		switch {
		case suspected[name]:
			kinds[name] = lr.likeness(p, r, forms)
		case r.decided <= after.UnixNano():
			borne[lr.likeness(p, r, forms)] = true
		}
	}
	var last []digest
	for _, d := range suspects {
		if borne[kinds[g.suspects[d].routeName]] {
			sorted = append(sorted, d)
		} else {
			last = append(last, d)
		}
	}
	return append(sorted, last...), len(last)
}

// formKey determines the form of a route; the group has the attributes.
type formKey struct {
	group *rib.Group
	head  string // of an EVPN NLRI: the type and the length
}

// likeness returns a text that is the same for routes of the same form. These differ only in addresses and in values of
// attributes that every daemon reads. Rare attributes count with all their bytes. known holds the forms found before.
func (ss *sessions) likeness(p *Peer, r recent, known map[formKey]string) string {
	key := formKey{group: r.group}
	if r.family == wire.EVPN && len(r.nlri) > 1 {
		key.head = r.nlri[:2]
	}
	form, found := known[key]
	if !found {
		form = ss.form(p, r, key.head)
		known[key] = form
	}
	return form
}

func (ss *sessions) form(p *Peer, r recent, head string) string {
	messages, _ := ss.alone(r).Encoded(p.Queue.Kind, 8)
	if len(messages) == 0 || len(messages[0]) < headOfUpdate {
		return ""
	}
	form := fmt.Appendf(nil, "%d%s", r.family, head)
	for rest := messages[0][headOfUpdate:]; len(rest) > 3; {
		start, n := 3, int(rest[2])
		if rest[0]&0x10 != 0 {
			start, n = 4, int(binary.BigEndian.Uint16(rest[2:]))
		}
		if len(rest) < start+n {
			break
		}
		form = append(form, rest[0]&^0x10, rest[1])
		if !ordinary(rest[1]) {
			form = append(form, rest[start:start+n]...)
		}
		rest = rest[start+n:]
	}
	return string(form)
}

// ordinary reports whether every daemon reads attributes of this type: those of RFC 4271, communities of all sizes,
// reflection, and MP_REACH_NLRI.
func ordinary(kind byte) bool {
	return kind <= 5 || 8 <= kind && kind <= 10 || kind == 14 || kind == 16 || kind == 32
}
