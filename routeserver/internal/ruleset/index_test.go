package ruleset

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAnIndexIsAMap compares an index and its copies with plain maps over random steps.
func TestAnIndexIsAMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var now index[string, int]
	model := map[string]int{}
	for round := range 200 {
		old, before := now, maps.Clone(model)
		now = old.copied()
		touched := map[string]bool{}
		for range r.IntN(20) {
			k := fmt.Sprint("k", r.IntN(500))
			touched[k] = true
			if r.IntN(3) == 0 {
				now.remove(k)
				delete(model, k)
			} else {
				now.put(k, round)
				model[k] = round
			}
		}
		for _, c := range []struct {
			name string
			have *index[string, int]
			want map[string]int
		}{{"the copy", &now, model}, {"the original", &old, before}} {
			have := map[string]int{}
			for k := range c.have.keys() {
				have[k] = c.have.look(k)
			}
			if !maps.Equal(have, c.want) {
				t.Fatalf("round %d: %s has %v, not %v", round, c.name, have, c.want)
			}
		}
		different := slices.Collect(either(&old, &now))
		for k := range touched {
			if before[k] != model[k] && !slices.Contains(different, k) {
				t.Fatalf("round %d: %s changed and is not among the different", round, k)
			}
		}
		if len(touched) == 0 && len(different) > 0 {
			t.Fatalf("round %d: nothing changed, and %v are different", round, different)
		}
	}
}
