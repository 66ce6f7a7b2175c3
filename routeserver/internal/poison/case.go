// Package poison finds the one among many routes after which a neighbour ends its session. It knows nothing of
// sessions, time or BGP: its input is how a session ended and which routes the neighbour had just been sent; its output
// is which routes to hold back, to try next, and to blame. It is group testing by halving (Dorfman 1943; Hwang 1972).
package poison

// Case is one search, for one neighbour. K identifies a version of a route: another version is another route.
//
// At first all suspects are held back. Then one set of them after the other is sent, each route in its own message,
// after all other routes. A set is cleared if the neighbour keeps its session, and halved if not. The older half is
// tried first: the last route sent is the likeliest one, and if all others are cleared it is found without a trial.
type Case[K comparable] struct {
	sets    []*set[K] // to be tried, the next one last
	trial   *set[K]   // set on trial
	held    map[K]struct{}
	cleared map[K]struct{}
	found   int
	apart   bool // every suspect was sent in a message of its own from the beginning
}

// set is a set of suspects, in the order in which they were sent.
type set[K comparable] struct {
	routes  []K
	guilty  bool    // at least one of them certainly is a poison
	other   *set[K] // the half not yet tried
	implied bool    // that half is guilty if this one is not
}

// Open begins a search. The last suspect is the likeliest one. The last `unlike` suspects are unlike all that the
// neighbour has accepted, so all others are tried together first. apart says that no two suspects shared a message; if
// two did, the message may be what the neighbour does not accept, rather than a route.
func Open[K comparable](suspects []K, unlike int, apart bool) (c *Case[K], found []K) {
	c = &Case[K]{held: map[K]struct{}{}, cleared: map[K]struct{}{}, apart: apart || len(suspects) == 1}
	if 0 < unlike && unlike < len(suspects) {
		c.part(&set[K]{routes: suspects, guilty: c.apart}, len(suspects)-unlike)
		return c, nil
	}
	return c, c.accuse(suspects, c.apart)
}

// Ended records that the neighbour ended a session in the same manner again; recent are the routes just sent, and apart
// is as in Open. found are routes that certainly are poisons.
func (c *Case[K]) Ended(recent []K, apart bool) (found []K) {
	tried := c.trial
	if c.trial = nil; tried == nil {
		return c.accuse(c.fresh(recent), apart)
	}
	others := c.without(c.fresh(recent), tried.routes)
	if tried.other != nil {
		tried.other.guilty = false // this half explains why the neighbour did not accept the whole
	}
	for _, k := range tried.routes {
		c.held[k] = struct{}{}
	}
	if len(others) > 0 { // it was one of the new routes, or one of those on trial
		c.push(&set[K]{routes: others})
		c.push(&set[K]{routes: tried.routes})
		return nil
	}
	tried.guilty = true
	return c.divide(tried)
}

// accuse adds suspects. A single suspect is found at once.
func (c *Case[K]) accuse(suspects []K, apart bool) (found []K) {
	if len(suspects) == 0 {
		return nil
	}
	return c.divide(&set[K]{routes: suspects, guilty: apart || len(suspects) == 1})
}

// fresh returns the routes that were not cleared, or all if all were cleared: then the neighbour is not consistent.
func (c *Case[K]) fresh(routes []K) []K {
	var fresh []K
	for _, k := range routes {
		if _, cleared := c.cleared[k]; !cleared {
			fresh = append(fresh, k)
		}
	}
	if len(fresh) == 0 {
		return routes
	}
	return fresh
}

func (c *Case[K]) without(routes, these []K) (rest []K) {
	known := make(map[K]struct{}, len(these))
	for _, k := range these {
		known[k] = struct{}{}
	}
	for _, k := range routes {
		if _, there := known[k]; !there {
			rest = append(rest, k)
		}
	}
	return rest
}

// push adds a set to be tried next.
func (c *Case[K]) push(s *set[K]) {
	for _, k := range s.routes {
		c.held[k] = struct{}{}
	}
	c.sets = append(c.sets, s)
}

// divide pushes the halves of a set that the neighbour did not accept. A single route of a guilty set is found.
func (c *Case[K]) divide(s *set[K]) (found []K) {
	if len(s.routes) == 1 {
		delete(c.held, s.routes[0])
		c.found++
		return s.routes
	}
	c.part(s, (len(s.routes)+1)/2)
	return nil
}

// part pushes the two parts of a set; the first n routes are tried before the others.
func (c *Case[K]) part(s *set[K], n int) {
	older, newer := &set[K]{routes: s.routes[:n:n]}, &set[K]{routes: s.routes[n:]}
	older.other, older.implied = newer, s.guilty
	c.push(newer)
	c.push(older)
}

// Next returns the routes to be tried now, and those found without a trial. present reports whether a route would be
// sent at all; others are no longer suspects. If no route is to be tried, the search is over.
func (c *Case[K]) Next(present func(K) bool) (trial, found []K) {
	for c.trial == nil && len(c.sets) > 0 {
		last := len(c.sets) - 1
		s := c.sets[last]
		c.sets = c.sets[:last]
		var left []K
		for _, k := range s.routes {
			if present(k) {
				left = append(left, k)
			} else {
				delete(c.held, k)
			}
		}
		s.guilty = s.guilty && len(left) == len(s.routes)
		s.implied = s.implied && len(left) == len(s.routes)
		s.routes = left
		switch {
		case len(left) == 0:
		case s.guilty:
			found = append(found, c.divide(s)...)
		default:
			c.trial = s
			for _, k := range left {
				delete(c.held, k)
			}
		}
	}
	if c.trial != nil {
		trial = c.trial.routes
	}
	return trial, found
}

// Survived records that the neighbour kept its session for as long as it may take to end it, so the trial clears its routes.
func (c *Case[K]) Survived() (cleared []K) {
	s := c.trial
	if s == nil {
		return nil
	}
	c.trial = nil
	for _, k := range s.routes {
		c.cleared[k] = struct{}{}
	}
	if s.other != nil && s.implied {
		s.other.guilty = true
	}
	return s.routes
}

// Interrupted records that the session ended for another reason, so the trial has to be repeated.
func (c *Case[K]) Interrupted() {
	if s := c.trial; s != nil {
		c.trial = nil
		c.push(s)
	}
}

// Holds reports whether a route is held back as a suspect.
func (c *Case[K]) Holds(k K) bool {
	_, held := c.held[k]
	return held
}

// Held returns the number of routes held back.
func (c *Case[K]) Held() int { return len(c.held) }

// Open reports whether there are sets to be tried.
func (c *Case[K]) Open() bool { return c.trial != nil || len(c.sets) > 0 }

// Trying returns the number of routes on trial.
func (c *Case[K]) Trying() int {
	if c.trial == nil {
		return 0
	}
	return len(c.trial.routes)
}

// Together reports, for a search that is over, that the neighbour accepts each route alone, but not several of them in
// one message.
func (c *Case[K]) Together() bool { return !c.Open() && !c.apart && c.found == 0 && len(c.cleared) > 0 }
