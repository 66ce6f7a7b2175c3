package main

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// samples returns half an hour of samples around 40 MB that grow by so many MB an hour.
func samples(growth float64) []Sample {
	r := rand.New(rand.NewPCG(1, 2))
	var list []Sample
	for at := range 1800 {
		t := float64(at)
		heap := 10 + 4*r.Float64() + growth*t/3600
		list = append(list, Sample{At: t, RSS: 40 + 5*r.Float64() + growth*t/3600, Heap: heap, Goroutines: 410 + float64(r.IntN(9)), Descriptors: 210})
	}
	return list
}

func TestVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		samples []Sample
		err     error
		ok      bool
	}{
		"flat":              {samples(0), nil, true},
		"24 MB an hour":     {samples(24), nil, false},
		"a wrong route":     {samples(0), errors.New("isolation"), false},
		"nothing to see":    {nil, nil, false},
		"it shrinks":        {samples(-8), nil, true},
		"no such metric":    {make([]Sample, 1800), nil, false},
		"goroutines remain": {leaking(samples(0)), nil, false},
	} {
		r := Result{Samples: c.samples}
		if r.judge(c.err); r.OK != c.ok {
			t.Errorf("%s: %+v", name, r.Measures)
		}
	}
}

func leaking(list []Sample) []Sample {
	for i := range list {
		list[i].Goroutines += float64(i) / 100
	}
	return list
}

func TestWhatAPEMayBeSent(t *testing.T) {
	var wrong []string
	r := newRegion(Plan{PEs: 60, Pool: 10, Routes: 50}, func(err error) { wrong = append(wrong, err.Error()) })
	send := func(to, from, rt int) string {
		wrong = nil
		p := r.pes[to]
		if err := r.hear(p, p.family.afi, p.family.safi, p.family.nlris(from, 1<<7|1<<49), target(rt), true); err != nil {
			return err.Error()
		}
		return strings.Join(wrong, "; ")
	}
	expect := func(what, said, want string) {
		t.Helper()
		if said != want && (want == "" || !strings.Contains(said, want)) {
			t.Errorf("%s: %q", what, said)
		}
	}
	for i := 1; i < 60; i += 10 { // of every family
		expect("within the pool", send(i, i+1, i), "")
	}
	if r.pes[1].held[2] != 1<<7|1<<49 {
		t.Errorf("holds %x", r.pes[1].held[2])
	}
	expect("another's route target", send(1, 2, 2), "communities")
	expect("another pool", send(1, 31, 1), "never did")
	expect("its own", send(1, 1, 1), "shares no pool")
	expect("a site that there is not", send(1, 777, 1), "there is not")
	if r.hear(r.pes[1], 25, 70, nil, nil, true) == nil {
		t.Error("a family that was not negotiated is taken")
	}
	p := r.pes[1]
	if r.hear(p, p.family.afi, p.family.safi, append(p.family.nlris(2, 1), 1), target(1), true) == nil {
		t.Error("an NLRI that is cut off is taken")
	}

	move := map[int]int{1: 3}
	r.begin(move)
	expect("on its way to the new pool", send(1, 31, 1), "")
	expect("not yet gone from the old one", send(2, 1, 2), "")
	r.end(move)
	expect("in the new pool", send(31, 1, 31), "")
	expect("just parted", send(1, 2, 1), "")
	r.parted[1*60+2] = time.Now().Add(-time.Minute)
	expect("long parted", send(1, 2, 1), "for 60")
}
