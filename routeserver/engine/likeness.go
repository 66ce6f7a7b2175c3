package engine

import (
	"encoding/binary"
	"fmt"
	"time"

	"weft/routeserver/wire"
)

// headOfUpdate is what is before the path attributes of an UPDATE without withdrawn routes: the header, and two lengths.
const headOfUpdate = wire.HeaderLength + 4

// likeliestLast sorts the suspects of a new search: those that are unlike everything that the peer has borne come last. It says
// how many there are of them. Routes of a known kind hardly ever end a session; a daemon that has a defect has it with something
// that it was not sent before. It only decides what is tried first: a suspect is cleared by being borne, and by nothing else.
func (e *Engine) likeliestLast(p *Peer, suspects []digest) (sorted []digest, unlike int) {
	if len(suspects) < 2 {
		return suspects, 0
	}
	g := e.guards[p.Name]
	borne := map[string]bool{}
	after, _ := p.Queue.Lately(now().Add(-g.settle))
	suspected := map[routeName]bool{}
	for _, d := range suspects {
		suspected[g.suspects[d].routeName] = true
	}
	kinds := map[routeName]string{}
	for _, r := range e.between(p, time.Time{}, now()) {
		name := r.routeName
		switch {
		case suspected[name]:
			kinds[name] = e.likeness(p, r)
		case r.decided <= after.UnixNano():
			borne[e.likeness(p, r)] = true
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

// likeness is the same for routes that differ in what they say and not in their form: in values of attributes that every daemon
// reads, and in addresses. Attributes that are seldom there count with all their bytes.
func (e *Engine) likeness(p *Peer, r recent) string {
	messages, _ := e.alone(r).Encoded(p.Queue.Kind, 8)
	if len(messages) == 0 || len(messages[0]) < headOfUpdate {
		return ""
	}
	form := fmt.Appendf(nil, "%d", r.family)
	if r.family == wire.EVPN && len(r.nlri) > 1 { // the type and the length
		form = append(form, r.nlri[:2]...)
	}
	for rest := messages[0][headOfUpdate:]; len(rest) > 3; {
		head, n := 3, int(rest[2])
		if rest[0]&0x10 != 0 {
			head, n = 4, int(binary.BigEndian.Uint16(rest[2:]))
		}
		if len(rest) < head+n {
			break
		}
		form = append(form, rest[0]&^0x10, rest[1])
		if !ordinary(rest[1]) {
			form = append(form, rest[head:head+n]...)
		}
		rest = rest[head+n:]
	}
	return string(form)
}

// ordinary are types of attributes that every daemon reads: RFC 4271, communities of all sizes, reflection, and MP_REACH_NLRI.
func ordinary(kind byte) bool {
	return kind <= 5 || 8 <= kind && kind <= 10 || kind == 14 || kind == 16 || kind == 32
}
