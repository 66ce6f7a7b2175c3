package ruleset

// A history of 128 changes of some operations each shares almost all with the rule set in force. A set that was put in
// force whole shares nothing, and counts as many.
const (
	historyRoom = 128
	wholeWeight = 16
	lightOps    = 64 // operations that copy as little as one does, nearly
)

// History is the rule sets that were in force last, up to the one that is. The zero value is empty.
type History struct {
	sets   []*Set // in the order in which they came in force
	weight int
}

// Add takes in what has come in force.
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

// At finds the rule set of a generation, the last one of that number, or nil if it is not known (any more).
func (h *History) At(generation uint64) *Set {
	for i := len(h.sets) - 1; i >= 0; i-- {
		if h.sets[i].Generation == generation {
			return h.sets[i]
		}
	}
	return nil
}

// Range is the lowest and the highest generation that is known. There may be gaps in between.
func (h *History) Range() (low, high uint64) {
	for i, s := range h.sets {
		if i == 0 {
			low, high = s.Generation, s.Generation
		}
		low, high = min(low, s.Generation), max(high, s.Generation)
	}
	return low, high
}

// weight is how much of it is not shared with the set that it was made of.
func (s *Set) weight() int { return min(1+s.ops/lightOps, wholeWeight) }
