package engine

import (
	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// Judge returns the endpoint that a peer's route belongs to, or the reason to quarantine it. A route must carry exactly one
// route target, that of an endpoint of the announcing peer. It must be of the endpoint's family, or a traffic filter, which
// goes beside it. It must send traffic to where the endpoint's announce permits allow it. A route that was here before is
// not eligible, whatever it carries (RFC 4271 section 9.1.2, RFC 4456 section 8).
func Judge(set *ruleset.Set, peer string, f wire.Family, a *wire.Attributes) (endpoint string, reason rib.Reason) {
	if a.Loop {
		return "", rib.Loop
	}
	targets := a.RTs
	if targets == "" {
		return "", rib.NoRT
	}
	reason = rib.UnknownRT
	for _, rt := range wire.RTs(targets) {
		switch owner := set.Owner(rt); {
		case owner == nil:
		case owner.Peer == peer:
			others, redirects := a.Strays()
			switch {
			case len(targets) > 8 || others:
				return "", rib.Ambiguous
			case redirects:
				return "", rib.Redirect
			case f != owner.Main && !f.Flow():
				return "", rib.Family
			}
			if reason := Misled(owner, f, a); reason != "" {
				return "", reason
			}
			return owner.Name, ""
		default:
			reason = rib.ForeignRT
		}
	}
	return "", reason
}

// claim makes a route, which is to go into the accepted group g, the one with its key, and reports whether it did. If
// another route has the key, the one wins whose endpoint owns the NLRI's route distinguisher; otherwise the first that is
// not the least preferred. So nobody takes over another's routes by announcing the same NLRI.
func (lr *locRIB) claim(t *transaction, f wire.Family, key string, r *rib.Route, g *rib.Group, endpoint string) bool {
	owner := lr.table.Owner(f, key)
	if owner == nil || owner == r {
		lr.table.SetOwner(f, key, r)
		return true
	}
	if !lr.outranks(f, r, g, endpoint, owner) {
		return false
	}
	lr.table.SetOwner(f, key, r)
	lr.demote(t, key, owner)
	return true
}

func (fo *inForce) ownsRD(f wire.Family, r *rib.Route, endpoint string) bool {
	site := fo.set.Site(endpoint)
	return site != nil && string(site.Dist[:]) == f.RD(r.NLRI)
}

// demote withdraws an accepted route that lost its key, and moves it to the group of duplicates.
func (lr *locRIB) demote(t *transaction, key string, r *rib.Route) {
	g := r.Group
	in := lr.table.In(g.Peer)
	lr.emit(t, []string{r.NLRI}, g, nil)
	duplicates := lr.duplicates(in, g)
	lr.table.Put(in, key, r, duplicates)
	lr.tell(Quarantined, duplicates, []string{r.NLRI}, "", "")
	lr.table.Wait(g.Family, key, r)
}

// duplicates returns the group of the duplicates with the attributes of g.
func (lr *locRIB) duplicates(in *rib.In, g *rib.Group) *rib.Group {
	duplicates, fresh := in.Group(g.Family, g.Attributes, true, "")
	if fresh {
		lr.table.Judge(duplicates, g.Site, rib.Duplicate)
	}
	return duplicates
}

// release gives up the key of a route that was accepted or waited for it, and reports whether the key is free now.
func (lr *locRIB) release(f wire.Family, key string, r *rib.Route) bool {
	if lr.table.Owner(f, key) == r {
		lr.table.SetOwner(f, key, nil)
		return true
	}
	if r.Group.Duplicate {
		lr.table.Unwait(f, key, r)
	}
	return false
}

// promote gives a free key to the waiting duplicate that outranks the others, or to the first one.
func (lr *locRIB) promote(t *transaction, f wire.Family, key string) {
	line := lr.table.Waiting(f, key)
	if len(line) == 0 || lr.table.Owner(f, key) != nil {
		return
	}
	next := line[0]
	for _, r := range line[1:] {
		endpoint, _ := lr.candidate(r.Group)
		if lr.outranks(f, r, r.Group, endpoint, next) {
			next = r
		}
	}
	endpoint, _ := lr.candidate(next.Group)
	if endpoint == "" {
		return
	}
	lr.table.Unwait(f, key, next)
	in := lr.table.In(next.Group.Peer)
	g := lr.group(in, f, next.Group.Attributes)
	lr.table.SetOwner(f, key, next)
	lr.table.Put(in, key, next, g)
	lr.tell(Announced, g, []string{next.NLRI}, "", "")
	lr.emit(t, []string{next.NLRI}, nil, g)
}

// contest settles keys anew after endpoints have changed. Duplicates of an endpoint take their keys if the endpoint owns
// the route distinguisher now. Least preferred routes of an endpoint lose theirs to others if it does not own it any more.
func (lr *locRIB) contest(t *transaction, endpoints []string) {
	for _, name := range endpoints {
		site := lr.set.Site(name)
		if site == nil || lr.table.Ins()[site.Peer] == nil {
			continue
		}
		for _, g := range lr.table.In(site.Peer).Groups() {
			if endpoint, _ := Judge(lr.set, g.Peer, g.Family, g.Attributes); g.PermitViolation != "" || !g.Duplicate && !lr.last(g) || endpoint != name {
				continue
			}
			for _, r := range append([]*rib.Route(nil), g.Routes()...) {
				lr.challenge(t, g.Family, g.Family.Key(r.NLRI))
			}
		}
	}
}

// group returns the group for a peer's routes with these attributes and no permit violation, and makes it if there is none.
func (lr *locRIB) group(in *rib.In, f wire.Family, a *wire.Attributes) *rib.Group {
	return lr.aside(in, f, a, "")
}

// aside returns the group for a peer's routes with these attributes and one permit violation. It makes a missing group,
// judges it by the rule set in force and addresses it to its recipients.
func (lr *locRIB) aside(in *rib.In, f wire.Family, a *wire.Attributes, odd rib.Reason) *rib.Group {
	g, fresh := in.Group(f, a, false, odd)
	if !fresh {
		return g
	}
	site, reason := lr.judge(lr.set, g)
	lr.table.Judge(g, site, reason)
	if g.Endpoint != "" {
		for peer, targets := range lr.recipients(lr.set, g) {
			g.SetSent(lr.sending(peer, g, targets))
		}
	}
	return g
}

// wanted returns those of the route targets with which a peer is sent a group's routes. It returns none if the peer has no
// session that carries the family, if communities keep the routes from it, if they are long-lived stale and it does not
// know what that means, or if the guard holds back all routes of the announcing peer. If the peer constrains routes, it
// returns only those that the peer asked for.
func (ss *sessions) wanted(peer string, g *rib.Group, targets string) string {
	p := ss.peers[peer]
	if p == nil || !p.Families[g.Family] || !g.Scope.Reaches(p.Queue.Kind.External) || ss.last(g) && !p.restart.LongLived || p.guard != nil && p.guard.bars(g.Peer) {
		return ""
	}
	return p.narrow(targets)
}

// recipients returns the peers with a session that get a group's routes, and their route targets.
func (ss *sessions) recipients(set *ruleset.Set, g *rib.Group) map[string]string {
	audience := set.Audience(g.Endpoint)
	for peer, targets := range audience {
		if targets = ss.wanted(peer, g, targets); targets == "" {
			delete(audience, peer)
		} else {
			audience[peer] = targets
		}
	}
	return audience
}
