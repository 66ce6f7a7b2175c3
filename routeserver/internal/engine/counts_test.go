package engine

import (
	"fmt"
	"testing"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/wire"
)

// walked counts the routes in the tables of all peers by a walk through all of them.
func walked(e *Engine) map[string]*rib.Counts {
	all := map[string]*rib.Counts{}
	of := func(peer string) *rib.Counts {
		if all[peer] == nil {
			all[peer] = &rib.Counts{Quarantined: map[rib.Reason]int{}}
		}
		return all[peer]
	}
	for name, in := range e.table.Ins() {
		c := of(name)
		for _, g := range in.Groups() {
			for _, r := range g.Routes() {
				c.In[g.Family]++
				if g.Endpoint == "" {
					c.Quarantined[g.Reason]++
				} else {
					c.Accepted[g.Family]++
				}
				for _, s := range g.Out {
					if s.Has(r.NLRI) {
						of(s.Peer).Out[g.Family]++
					} else {
						of(s.Peer).Withheld[g.Family]++
					}
				}
			}
		}
	}
	return all
}

// miscounted says which peer's routes are not counted as a walk counts them; empty: none.
func miscounted(e *Engine) string {
	all := walked(e)
	for _, name := range append(e.set.Peers(), "nobody") {
		want := all[name]
		if want == nil {
			want = &rib.Counts{}
		}
		if have := e.table.Counts(name); fmt.Sprint(have) != fmt.Sprint(*want) {
			return fmt.Sprintf("%s is counted with %v and has %v", name, have, *want)
		}
	}
	return ""
}

// checkCounts compares the counts of all peers with a walk.
func (w *world) checkCounts(after string) {
	if text := miscounted(w.engine); text != "" {
		w.t.Fatalf("after %s: %s", after, text)
	}
	for _, a := range w.engine.Accounts() {
		held := 0
		for _, n := range a.Held {
			held += n
		}
		walk, c := walked(w.engine)[a.Peer], a.Counts
		if walk == nil {
			walk = &rib.Counts{}
		}
		for f := range wire.Families {
			held -= walk.Out[f] - c.Out[f]
		}
		if held != 0 {
			w.t.Fatalf("after %s: the counts of what %s was sent leave out %d routes less than are held back", after, a.Peer, held)
		}
	}
}

// TestCountsOfGoneRecipients checks that the numbers of peers that are sent nothing any more are used again, and begin at
// zero.
func TestCountsOfGoneRecipients(t *testing.T) {
	f := newFat(t, 3)
	for round := range 5 {
		f.announce(t, f.run(uint32(round), 0, 10))
		gone := f.recipients[round%3]
		config := gone.Config()
		f.e.Down(gone, "it goes")
		if text := miscounted(f.e); text != "" {
			t.Fatal(text)
		}
		f.announce(t, f.run(uint32(round), 5, 20))
		f.recipients[round%3] = f.e.Up(config, gone.ID, gone.Families)
		if text := miscounted(f.e); text != "" {
			t.Fatal(text)
		}
		f.announce(t, f.gone(0, 20))
		if c := f.e.table.Counts(config.Name); c.Out[wire.VPLS] != 0 || c.Withheld[wire.VPLS] != 0 {
			t.Fatalf("round %d: %v", round, c)
		}
	}
}

// BenchmarkAccount counts one peer among many routes.
func BenchmarkAccount(b *testing.B) {
	e := populated(b, 100)
	name := e.Set().Peers()[0]
	b.ResetTimer()
	for range b.N {
		e.Account(name)
	}
}
