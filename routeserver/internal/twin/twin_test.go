package twin

import "testing"

func TestVerdict(t *testing.T) {
	at := func(generation uint64, inTouch bool) Standing {
		return Standing{Name: "rs", Generation: generation, Loaded: true, InTouch: inTouch}
	}
	trial := at(8, false)
	trial.OnTrial = true
	for _, c := range []struct {
		what         string
		ours, theirs Standing
		want         decision
	}{
		{"behind, and the controller does not reach us", at(7, false), at(8, true), adopt},
		{"behind, and the controller is gone", at(7, false), at(8, false), adopt},
		{"behind, but the change is on its way to us", at(7, true), at(8, true), leave},
		{"nothing of our own", Standing{}, at(8, false), adopt},
		{"nothing on either side", Standing{}, Standing{}, leave},
		{"the twin has nothing", at(7, false), Standing{}, leave},
		{"in step", at(8, false), at(8, true), leave},
		{"ahead", at(9, false), at(8, false), leave},
		{"ahead of what the controller says now", at(9, false), at(8, true), contradict},
		{"ahead by a change on its way to the twin", at(9, true), at(8, true), leave},
		{"the twin has something on trial", at(7, false), trial, leave},
		{"we have something on trial", trial, at(9, true), leave},
	} {
		if have := verdict(c.ours, c.theirs); have != c.want {
			t.Errorf("%s: %d, not %d", c.what, have, c.want)
		}
	}
}
