// Package poison decides which of many routes it is after which a neighbour ends its session. It knows nothing of sessions,
// of time or of BGP: it is told how a session ended and what the neighbour had just been sent, and says what to hold back,
// what to try next, and which route is found. It is group testing by halving (Dorfman 1943; Hwang 1972).
package poison

// Case is one search, for one neighbour. K tells routes apart as they are sent: another version is another route.
//
// All suspects are held back at first. One set of them after the other is sent, each route in a message of its own, while
// all else has been sent before. A set that the neighbour bears is cleared; one that it does not is halved. The older half is
// tried first: the route that was sent last is the likeliest, and if all others are cleared it is found without a trial.
type Case[K comparable] struct {
	sets    []*set[K] // to be tried, the next one last
	trial   *set[K]   // what is tried now
	held    map[K]struct{}
	cleared map[K]struct{}
	found   int
	apart   bool // every suspect was sent in a message of its own from the beginning
}

// set is suspects, in the order in which they were sent.
type set[K comparable] struct {
	routes  []K
	guilty  bool    // one of them certainly is a poison
	other   *set[K] // the half that was not tried yet
	implied bool    // that half is guilty if this one is not
}

// Open begins a search. The last suspect is the likeliest one, and the last few, as many as unlike says, are unlike all that the
// neighbour has borne: all others are tried at once first. apart says that no two of them shared a message; if they did, it may
// be the message that the neighbour does not bear, and none of the routes.
func Open[K comparable](suspects []K, unlike int, apart bool) (c *Case[K], found []K) {
	c = &Case[K]{held: map[K]struct{}{}, cleared: map[K]struct{}{}, apart: apart || len(suspects) == 1}
	if 0 < unlike && unlike < len(suspects) {
		c.part(&set[K]{routes: suspects, guilty: c.apart}, len(suspects)-unlike)
		return c, nil
	}
	return c, c.accuse(suspects, c.apart)
}

// Ended takes in that the neighbour ended a session in the same manner again; recent is what it had just been sent, as in
// Open. found are routes that are poisons for certain.
func (c *Case[K]) Ended(recent []K, apart bool) (found []K) {
	tried := c.trial
	if c.trial = nil; tried == nil {
		return c.accuse(c.fresh(recent), apart)
	}
	others := c.without(c.fresh(recent), tried.routes)
	if tried.other != nil {
		tried.other.guilty = false // this half explains why the whole was not borne
	}
	for _, k := range tried.routes {
		c.held[k] = struct{}{}
	}
	if len(others) > 0 { // it was one of these, or one of those
		c.push(&set[K]{routes: others})
		c.push(&set[K]{routes: tried.routes})
		return nil
	}
	tried.guilty = true
	return c.divide(tried)
}

// accuse adds suspects. A single one is found.
func (c *Case[K]) accuse(suspects []K, apart bool) (found []K) {
	if len(suspects) == 0 {
		return nil
	}
	return c.divide(&set[K]{routes: suspects, guilty: apart || len(suspects) == 1})
}

// fresh are those of the routes that were not cleared; all, if all were: the neighbour is not consistent.
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

// push puts a set in front.
func (c *Case[K]) push(s *set[K]) {
	for _, k := range s.routes {
		c.held[k] = struct{}{}
	}
	c.sets = append(c.sets, s)
}

// divide puts the halves of a set in front that was not borne. A single route of a guilty set is found.
func (c *Case[K]) divide(s *set[K]) (found []K) {
	if len(s.routes) == 1 {
		delete(c.held, s.routes[0])
		c.found++
		return s.routes
	}
	c.part(s, (len(s.routes)+1)/2)
	return nil
}

// part puts the two parts of a set in front, the first n routes to be tried before the others.
func (c *Case[K]) part(s *set[K], n int) {
	older, newer := &set[K]{routes: s.routes[:n:n]}, &set[K]{routes: s.routes[n:]}
	older.other, older.implied = newer, s.guilty
	c.push(newer)
	c.push(older)
}

// Next gives the routes to be tried now, and those that are found without a trial. present says whether a route would be
// sent at all; those that would not are suspects no more. Nothing is tried: the search is over.
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

// Survived takes in that the neighbour bears what is tried, for as long as it may take to end its session.
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

// Interrupted takes in that the session ended for another reason: the trial says nothing, and is to be had again.
func (c *Case[K]) Interrupted() {
	if s := c.trial; s != nil {
		c.trial = nil
		c.push(s)
	}
}

// Holds says whether a route is held back as a suspect.
func (c *Case[K]) Holds(k K) bool {
	_, held := c.held[k]
	return held
}

// Held is how many are.
func (c *Case[K]) Held() int { return len(c.held) }

// Open says whether there is something to be tried.
func (c *Case[K]) Open() bool { return c.trial != nil || len(c.sets) > 0 }

// Trying is how many routes are on trial.
func (c *Case[K]) Trying() int {
	if c.trial == nil {
		return 0
	}
	return len(c.trial.routes)
}

// Together says, of a search that is over, that each route alone is borne: what the neighbour does not bear is several of
// them in one message.
func (c *Case[K]) Together() bool { return !c.Open() && !c.apart && c.found == 0 && len(c.cleared) > 0 }
