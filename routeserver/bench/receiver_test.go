package main

import "testing"

// TestReceiverSeesWrongRoutes feeds a PE what it must and must not get.
func TestReceiverSeesWrongRoutes(t *testing.T) {
	const routes = 300 // two messages
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
		t.Run(name, func(t *testing.T) {
			r := newReceiver(Cell{PEs: 4, Routes: 4 * routes, Pool: 2}, false, c.shared)
			p := &PE{held: map[int]*[]uint64{}, counts: map[int]int{}}
			r.pes[0] = p
			r.stage(func(*World) {})
			before := r.missing.Load()
			data := announcements(c.site, routes, c.target)
			for len(data) > 0 {
				n := int(data[16])<<8 | int(data[17])
				if err := r.update(p, data[19:n]); err != nil {
					t.Fatal(err)
				}
				data = data[n:]
			}
			if r.wrong != c.wrong {
				t.Errorf("%d wrong routes are seen, not %d: %v", r.wrong, c.wrong, r.violations)
			}
			step := int64(-routes)
			if !r.world.wants(0, c.site) {
				step = routes
			}
			if got := r.missing.Load() - before; got != step {
				t.Errorf("what is missing changes by %d, not by %d", got, step)
			}
			if err := p.recount(); err != nil {
				t.Error(err)
			}
		})
	}
}
