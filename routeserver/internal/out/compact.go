package out

// Compact drops superseded entries now, before they have piled up.
func (q *Queue) Compact() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.compact()
}

// compact drops, for each route, the entries that a later one supersedes. It moves no entry across a message: a route that
// is refreshed between two messages must stay there (RFC 7313). It is called with the lock held.
func (q *Queue) compact() {
	var kept []item
	routes, start := 0, 0
	for i := 0; i <= len(q.items); i++ {
		if i < len(q.items) && q.items[i].batch != nil {
			continue
		}
		part, n := compact(q.items[start:i])
		kept, routes = append(kept, part...), routes+n
		if i < len(q.items) {
			kept = append(kept, q.items[i])
		}
		start = i + 1
	}
	q.items, q.routes, q.bytes = kept, routes, 0
	for _, i := range kept {
		q.bytes += i.bytes()
	}
	q.limit, q.most = max(compactAt, 2*routes), max(compactBytes, 2*q.bytes)
}

// compact keeps the last entry of each route. It keeps none if the neighbour never had the route and is not to have it.
func compact(items []item) (kept []item, routes int) {
	known := map[identity]bool{} // as the first entry says
	last := map[identity]int{}
	for n, i := range items {
		for _, nlri := range i.batch.NLRIs {
			id := identity{i.batch.Family, i.batch.Family.Identity(nlri)}
			if _, seen := last[id]; !seen {
				known[id] = i.known
			}
			last[id] = n
		}
	}
	for n, i := range items {
		b := i.batch
		var old, fresh []string // whether the neighbour had the route before the first entry
		for _, nlri := range b.NLRIs {
			id := identity{b.Family, b.Family.Identity(nlri)}
			switch {
			case last[id] != n:
			case known[id]:
				old = append(old, nlri)
			case b.Attributes != nil:
				fresh = append(fresh, nlri)
			}
		}
		for _, part := range []struct {
			nlris []string
			known bool
		}{{old, true}, {fresh, false}} {
			if len(part.nlris) == 0 {
				continue
			}
			rest := b
			if len(part.nlris) < len(b.NLRIs) {
				rest = newBatch(b.Family, b.Attributes, b.Reflection, part.nlris)
			}
			kept = append(kept, item{batch: rest, targets: i.targets, known: part.known, at: i.at, when: i.when})
			routes += len(part.nlris)
		}
	}
	return kept, routes
}
