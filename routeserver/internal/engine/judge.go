package engine

import (
	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// Judge finds the endpoint that a peer's route belongs to, or the reason why it is to be quarantined: a route must carry
// exactly one route target, and that must belong to an endpoint of the peer that announces it. The route must be of the
// endpoint's family, or a traffic filter, which goes beside it; and send traffic to where the endpoint's permits allow it. A route that was here before is not eligible, whatever it
// carries (RFC 4271 section 9.1.2, RFC 4456 section 8).
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

// claim makes a route, which is to be an accepted group's, the one with its key. If another peer's route has the key, the
// one wins whose endpoint owns the NLRI's route distinguisher, else the first that is not the least preferred; so nobody can
// take over another's routes by announcing the same NLRI.
func (e *Engine) claim(t *transaction, f wire.Family, key string, r *rib.Route, g *rib.Group, endpoint string) bool {
	owner := e.table.Owner(f, key)
	if owner == nil || owner == r {
		e.table.SetOwner(f, key, r)
		return true
	}
	if !e.outranks(f, r, g, endpoint, owner) {
		return false
	}
	e.table.SetOwner(f, key, r)
	e.demote(t, key, owner)
	return true
}

func (e *Engine) ownsRD(f wire.Family, r *rib.Route, endpoint string) bool {
	site := e.set.Site(endpoint)
	return site != nil && string(site.Dist[:]) == f.RD(r.NLRI)
}

// demote moves an accepted route that lost its key to the group of duplicates, and withdraws it.
func (e *Engine) demote(t *transaction, key string, r *rib.Route) {
	g := r.Group
	in := e.table.In(g.Peer)
	e.emit(t, []string{r.NLRI}, g, nil)
	twin := e.twin(in, g)
	e.table.Put(in, key, r, twin)
	e.tell(Quarantined, twin, []string{r.NLRI}, "", "")
	e.table.Wait(g.Family, key, r)
}

// twin is the group that holds the duplicates among routes with a group's attributes.
func (e *Engine) twin(in *rib.In, g *rib.Group) *rib.Group {
	twin, fresh := in.Group(g.Family, g.Attributes, true, "")
	if fresh {
		e.table.Judge(twin, g.Site, rib.Duplicate)
	}
	return twin
}

// release gives a key up, for a route that was accepted or in line for it. It says whether the key is free now.
func (e *Engine) release(f wire.Family, key string, r *rib.Route) bool {
	if e.table.Owner(f, key) == r {
		e.table.SetOwner(f, key, nil)
		return true
	}
	if r.Group.Duplicate {
		e.table.Unwait(f, key, r)
	}
	return false
}

// promote gives a free key to the duplicate that outranks the others that wait for it, or the first.
func (e *Engine) promote(t *transaction, f wire.Family, key string) {
	line := e.table.Waiting(f, key)
	if len(line) == 0 || e.table.Owner(f, key) != nil {
		return
	}
	next := line[0]
	for _, r := range line[1:] {
		endpoint, _ := e.candidate(r.Group)
		if e.outranks(f, r, r.Group, endpoint, next) {
			next = r
		}
	}
	endpoint, _ := e.candidate(next.Group)
	if endpoint == "" {
		return
	}
	e.table.Unwait(f, key, next)
	in := e.table.In(next.Group.Peer)
	g := e.group(in, f, next.Group.Attributes)
	e.table.SetOwner(f, key, next)
	e.table.Put(in, key, next, g)
	e.tell(Announced, g, []string{next.NLRI}, "", "")
	e.emit(t, []string{next.NLRI}, nil, g)
}

// contest gives duplicates their keys whose endpoints, which have changed, own the route distinguisher now; and others those
// of the least preferred routes that do not any more.
func (e *Engine) contest(t *transaction, endpoints []string) {
	for _, name := range endpoints {
		site := e.set.Site(name)
		if site == nil || e.table.Ins()[site.Peer] == nil {
			continue
		}
		for _, g := range e.table.In(site.Peer).Groups() {
			if endpoint, _ := Judge(e.set, g.Peer, g.Family, g.Attributes); g.PermitViolation != "" || !g.Duplicate && !e.last(g) || endpoint != name {
				continue
			}
			for _, r := range append([]*rib.Route(nil), g.Routes()...) {
				e.challenge(t, g.Family, g.Family.Key(r.NLRI))
			}
		}
	}
}

// group finds or makes the group for a peer's routes with these attributes with nothing else wrong with them.
func (e *Engine) group(in *rib.In, f wire.Family, a *wire.Attributes) *rib.Group {
	return e.aside(in, f, a, "")
}

// aside finds or makes the group for a peer's routes with these attributes that are odd in one way; a new one is judged by
// the rule set in force and addressed to its recipients.
func (e *Engine) aside(in *rib.In, f wire.Family, a *wire.Attributes, odd rib.Reason) *rib.Group {
	g, fresh := in.Group(f, a, false, odd)
	if !fresh {
		return g
	}
	site, reason := e.judge(e.set, g)
	e.table.Judge(g, site, reason)
	if g.Endpoint != "" {
		for peer, targets := range e.recipients(e.set, g) {
			g.SetSent(e.sending(peer, g, targets))
		}
	}
	return g
}

// wanted are those of a peer's route targets with which it is sent a group's routes: none without a session that carries
// the family, none if the routes' communities keep them from it, none that are long-lived stale if it does not know what
// that is, none of a peer that had too many poisons for it, and none that it has not asked for if it constrains routes.
func (e *Engine) wanted(peer string, g *rib.Group, targets string) string {
	p := e.peers[peer]
	if p == nil || !p.Families[g.Family] || !g.Scope.Reaches(p.Queue.Kind.External) || e.last(g) && !p.restart.LongLived || p.guard != nil && p.guard.bars(g.Peer) {
		return ""
	}
	return p.narrow(targets)
}

// recipients are the peers with a session that get a group's routes, and with which route targets.
func (e *Engine) recipients(set *ruleset.Set, g *rib.Group) map[string]string {
	audience := set.Audience(g.Endpoint)
	for peer, targets := range audience {
		if targets = e.wanted(peer, g, targets); targets == "" {
			delete(audience, peer)
		} else {
			audience[peer] = targets
		}
	}
	return audience
}
