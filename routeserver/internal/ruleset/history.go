package ruleset

// Limits of a history. Each of its 128 changes of some operations shares almost everything with the rule set in force. A
// set that was put in force as a whole shares nothing, and counts as wholeWeight changes.
const (
	historyRoom = 128
	wholeWeight = 16
	lightOps    = 64 // up to this many operations copy nearly as little as one
)

// History is the rule sets that were in force last, with the present one. The zero value is empty.
type History struct {
	sets   []*Set // in the order in which they came into force
	weight int
}

// Add adds a rule set that has come into force.
func (h *History) Add(s *Set) {
	h.sets = append(h.sets, s)
	h.weight += s.weight()
	first := 0
	for ; h.weight > historyRoom && first < len(h.sets)-1; first++ {
		h.weight -= h.sets[first].weight()
		h.sets[first] = nil
	}
	h.sets = h.sets[first:]
}

// At returns the last rule set with a generation, or nil if it is not known (any more).
func (h *History) At(generation uint64) *Set {
	for i := len(h.sets) - 1; i >= 0; i-- {
		if h.sets[i].Generation == generation {
			return h.sets[i]
		}
	}
	return nil
}

// Range returns the lowest and the highest known generation. There may be gaps in between.
func (h *History) Range() (low, high uint64) {
	for i, s := range h.sets {
		if i == 0 {
			low, high = s.Generation, s.Generation
		}
		low, high = min(low, s.Generation), max(high, s.Generation)
	}
	return low, high
}

// weight returns how much of a set is not shared with the set that it was made from.
func (s *Set) weight() int { return min(1+s.ops/lightOps, wholeWeight) }
