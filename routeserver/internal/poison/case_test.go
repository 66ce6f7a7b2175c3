package poison

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// neighbour accepts all routes except its poisons.
type neighbour struct {
	poisons  map[int]bool
	sessions int // that it ended
	trials   int
	has      map[int]bool
}

func all(int) bool { return true }

// search runs a whole search: it sends all routes at first, and then those that the case selects.
func search(n *neighbour, routes []int, apart bool) (found []int) {
	n.sessions = 1
	c, found := Open(routes, 0, apart)
	n.has = map[int]bool{}
	for range 100 * len(routes) {
		trial, more := c.Next(all)
		found = append(found, more...)
		if len(trial) == 0 {
			return found
		}
		n.trials++
		if slices.ContainsFunc(trial, func(k int) bool { return n.poisons[k] }) {
			n.sessions++
			found = append(found, c.Ended(trial, true)...)
			continue
		}
		for _, k := range c.Survived() {
			n.has[k] = true
		}
	}
	panic("the search does not end")
}

func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// TestAnySetOfPoisonsIsFound checks that exactly the poisons are found, all others are sent in the end, and each of p
// poisons among n routes costs at most one session more than the number of times that n can be halved.
func TestAnySetOfPoisonsIsFound(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 20))
		size := 1 + r.IntN(300)
		n := &neighbour{poisons: map[int]bool{}}
		for range 1 + r.IntN(min(6, size)) {
			n.poisons[r.IntN(size)] = true
		}
		apart := r.IntN(2) == 0
		found := search(n, numbers(size), apart)
		slices.Sort(found)
		if len(slices.Compact(slices.Clone(found))) != len(found) {
			t.Fatalf("seed %d: %v were found twice", seed, found)
		}
		for k := range size {
			if n.poisons[k] != slices.Contains(found, k) || n.poisons[k] == n.has[k] {
				t.Fatalf("seed %d: of %d routes %v are poisons, found were %v; route %d was sent: %v", seed, size, n.poisons, found, k, n.has[k])
			}
		}
		p, halvings := len(n.poisons), bits.Len(uint(size-1))
		if most := 1 + p*(halvings+1); n.sessions > most {
			t.Errorf("seed %d: %d poisons among %d routes cost %d sessions, more than %d", seed, p, size, n.sessions, most)
		}
		if most := 1 + 2*p*(halvings+1); n.trials > most {
			t.Errorf("seed %d: %d poisons among %d routes took %d trials, more than %d", seed, p, size, n.trials, most)
		}
	}
}

// TestTheLastRouteCostsOneSession checks that a poison that comes last costs only the session that it ended, whatever
// was sent shortly before.
func TestTheLastRouteCostsOneSession(t *testing.T) {
	for _, size := range []int{1, 2, 3, 10, 1000} {
		n := &neighbour{poisons: map[int]bool{size - 1: true}}
		if found := search(n, numbers(size), true); n.sessions != 1 || !slices.Equal(found, []int{size - 1}) {
			t.Errorf("of %d routes %v was found after %d sessions", size, found, n.sessions)
		}
	}
}

// TestRoutesThatAreBorneOneByOne checks that no route is found, and Together reports it, if the neighbour refuses them
// only in one message.
func TestRoutesThatAreBorneOneByOne(t *testing.T) {
	for _, size := range []int{2, 3, 7, 64} {
		c, found := Open(numbers(size), 0, false)
		for c.Open() {
			trial, more := c.Next(all)
			if found = append(found, more...); len(trial) > 0 {
				c.Survived()
			}
		}
		if len(found) > 0 || !c.Together() || c.Held() > 0 {
			t.Errorf("of %d routes %v were found, %d held; together: %v", size, found, c.Held(), c.Together())
		}
	}
	if c, _ := Open([]int{1}, 0, false); c.Together() {
		t.Error("a single route is no combination")
	}
}

// TestWhatIsGoneIsNoSuspect checks that routes withdrawn during the search are not tried, and that no remaining route
// is found without a trial.
func TestWhatIsGoneIsNoSuspect(t *testing.T) {
	c, _ := Open(numbers(8), 0, true)
	trial, found := c.Next(func(k int) bool { return k == 2 || k == 6 })
	if fmt.Sprint(trial, found) != "[2] []" {
		t.Fatalf("%v is tried, %v found", trial, found)
	}
	c.Survived()
	if trial, found = c.Next(func(k int) bool { return k == 6 }); fmt.Sprint(trial, found) != "[6] []" {
		t.Fatalf("%v is tried, %v found, though the poison may be gone", trial, found)
	}
	c.Survived()
	if trial, _ := c.Next(all); trial != nil || c.Open() || c.Held() > 0 {
		t.Errorf("%v is tried, %d held", trial, c.Held())
	}
}

// TestAnotherRouteDuringATrial checks that a route that came during a trial and the route on trial are each tried
// alone, since either may have ended the session.
func TestAnotherRouteDuringATrial(t *testing.T) {
	for _, poison := range []int{0, 9} {
		c, _ := Open(numbers(2), 0, true)
		trial, _ := c.Next(all)
		if fmt.Sprint(trial) != "[0]" {
			t.Fatalf("%v is tried", trial)
		}
		found := c.Ended([]int{0, 9}, true)
		for range 10 {
			trial, more := c.Next(all)
			if found = append(found, more...); len(trial) == 0 {
				break
			}
			if slices.Contains(trial, poison) {
				found = append(found, c.Ended(trial, true)...)
			} else {
				c.Survived()
			}
		}
		if fmt.Sprint(found) != fmt.Sprint([]int{poison}) {
			t.Errorf("%v was found, not %d", found, poison)
		}
	}
}

func TestAnInterruptedTrialSaysNothing(t *testing.T) {
	c, _ := Open(numbers(2), 0, true)
	first, _ := c.Next(all)
	c.Interrupted()
	if !c.Holds(first[0]) || c.Trying() != 0 {
		t.Fatal("what was tried is not held back again")
	}
	if again, found := c.Next(all); !slices.Equal(first, again) || len(found) > 0 {
		t.Errorf("%v is tried after %v, found %v", again, first, found)
	}
}

// TestTheBaseIsSuspectedLast checks that a cleared route is not suspected again while there are other suspects.
func TestTheBaseIsSuspectedLast(t *testing.T) {
	c, _ := Open(numbers(2), 0, false)
	c.Next(all)
	c.Survived() // 0
	if found := c.Ended([]int{0, 7}, false); fmt.Sprint(found) != "[7]" {
		t.Errorf("%v was found", found)
	}
	if found := c.Ended([]int{0}, true); fmt.Sprint(found) != "[0]" {
		t.Errorf("%v was found of what was cleared", found)
	}
}

// TestARouteUnlikeAllOthersCostsOneSession checks this if the others are accepted, and that a search that was misled
// still finds the poison.
func TestARouteUnlikeAllOthersCostsOneSession(t *testing.T) {
	for _, size := range []int{2, 3, 10, 300} {
		for _, poison := range []int{size - 1, 0} {
			c, found := Open(numbers(size), 1, true)
			sessions, trials := 1, 0
			for c.Open() {
				trial, more := c.Next(all)
				if found = append(found, more...); len(trial) == 0 {
					break
				}
				if trials++; slices.Contains(trial, poison) {
					sessions++
					found = append(found, c.Ended(trial, true)...)
				} else {
					c.Survived()
				}
			}
			if fmt.Sprint(found) != fmt.Sprint([]int{poison}) || c.Held() > 0 {
				t.Errorf("of %d routes %v were found, not %d", size, found, poison)
			}
			if poison == size-1 && (sessions != 1 || trials != 1) {
				t.Errorf("of %d routes one was found after %d sessions and %d trials", size, sessions, trials)
			}
		}
	}
}
