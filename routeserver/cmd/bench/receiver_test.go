package main

import "testing"

const routes = 300 // more than two messages

// TestReceiverSeesWrongRoutes feeds a PE right and wrong routes and counts the violations.
func TestReceiverSeesWrongRoutes(t *testing.T) {
	for name, c := range map[string]struct {
		site   int
		target []byte
		shared bool
		wrong  int
	}{
		"its own route target":          {1, rt(0), false, 0},
		"the announcer's":               {1, rt(1), false, routes},
		"its own and the announcer's":   {1, append(rt(1), rt(0)...), false, routes},
		"those of the pool, if allowed": {1, append(rt(1), rt(0)...), true, 0},
		"and one of another pool":       {1, append(rt(0), rt(2)...), true, routes},
		"none":                          {1, nil, false, routes},
		"another pool's site":           {2, rt(0), false, routes},
	} {
		for family := range families {
			t.Run(family+", "+name, func(t *testing.T) { receives(t, family, c.site, c.target, c.shared, c.wrong) })
		}
	}
}

func receives(t *testing.T, family string, site int, target []byte, shared bool, wrong int) {
	r := newReceiver(Cell{Size: Size{4, 4 * routes, 2, family}}, false, shared)
	p := &PE{held: map[int]*[]uint64{}, counts: map[int]int{}}
	r.pes[0] = p
	r.stage(func(*World) {})
	before := r.missing.Load()
	data := r.world.family.announcements(site, routes, target)
	for len(data) > 0 {
		n := int(data[16])<<8 | int(data[17])
		if err := r.update(p, data[19:n]); err != nil {
			t.Fatal(err)
		}
		data = data[n:]
	}
	if r.wrong != wrong {
		t.Errorf("%d wrong routes are seen, not %d: %v", r.wrong, wrong, r.violations)
	}
	step := int64(-routes)
	if !r.world.wants(0, site) {
		step = routes
	}
	if got := r.missing.Load() - before; got != step {
		t.Errorf("what is missing changes by %d, not by %d", got, step)
	}
	if err := p.recount(); err != nil {
		t.Error(err)
	}
}
