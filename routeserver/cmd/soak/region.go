package main

import (
	"bytes"
	"fmt"
	"sync"
	"time"
)

// grace is the time after a change in which a PE may still read earlier messages: the machine may be busy.
const grace = 10 * time.Second

// Region is the expected state: the pool and the announcements of each site. It judges every route that a PE gets.
type Region struct {
	mu      sync.Mutex
	pes     []*PE
	pools   int
	pool    []int       // by site; -1: none
	next    []int       // the same after the change in flight
	parted  []time.Time // by pair of sites: the last time that they shared a pool
	checked int64       // number of announcements
	broken  func(error) // called with each violation
}

func newRegion(p Plan, broken func(error)) *Region {
	r := &Region{pools: (p.PEs + p.Pool - 1) / p.Pool, parted: make([]time.Time, p.PEs*p.PEs), broken: broken}
	for i := range p.PEs {
		r.pool = append(r.pool, i/p.Pool)
		r.pes = append(r.pes, &PE{
			region: r, site: i, family: families[i/p.Pool%len(families)], graceful: i%2 == 0,
			all: 1<<p.Routes - 1, held: make([]uint64, p.PEs),
		})
	}
	r.next = append(r.next, r.pool...)
	r.slow().slow, r.rogue().rogue, r.hostile().rogue = true, true, true
	return r
}

func (r *Region) slow() *PE    { return r.pes[0] }
func (r *Region) rogue() *PE   { return r.pes[len(r.pes)-1] }
func (r *Region) hostile() *PE { return r.pes[len(r.pes)-2] }

func together(pool []int, i, s int) bool { return pool[i] >= 0 && pool[i] == pool[s] }

// allows reports whether PE i may get a route of site s: now, after the change in flight, or a short while ago.
func (r *Region) allows(i, s int) bool {
	lag := grace
	if r.pes[i].slow {
		lag += stall
	}
	return i != s && (together(r.pool, i, s) || together(r.next, i, s) || time.Since(r.parted[i*len(r.pes)+s]) < lag)
}

// since describes for how long two sites have shared no pool.
func (r *Region) since(i, s int) string {
	if at := r.parted[i*len(r.pes)+s]; !at.IsZero() {
		return fmt.Sprintf("for %.1f s", time.Since(at).Seconds())
	}
	return "and never did"
}

// begin and end enclose the call that moves sites.
func (r *Region) begin(moves map[int]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s, to := range moves {
		r.next[s] = to
	}
}

func (r *Region) end(moves map[int]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, n := time.Now(), len(r.pes)
	for s := range moves {
		for i := range r.pes {
			if together(r.pool, i, s) {
				r.parted[i*n+s], r.parted[s*n+i] = now, now
			}
		}
	}
	copy(r.pool, r.next)
}

// hear records NLRIs that PE p got. It requires the lock.
func (r *Region) hear(p *PE, afi uint16, safi byte, nlris, communities []byte, announced bool) error {
	if afi != p.family.afi || safi != p.family.safi {
		return fmt.Errorf("PE %d is sent family %d/%d, which it has not negotiated", p.site, afi, safi)
	}
	return p.family.each(nlris, func(s int, route uint64) {
		switch {
		case s < 0 || s >= len(r.pes):
			r.broken(fmt.Errorf("PE %d was sent a route of site %d, which there is not", p.site, s))
		case !announced:
			p.held[s] &^= route
		default:
			r.checked++
			p.held[s] |= route
			if !r.allows(p.site, s) {
				r.broken(fmt.Errorf("isolation: PE %d was sent a route of site %d, with which it shares no pool (%s)", p.site, s, r.since(p.site, s)))
			}
			if !bytes.Equal(communities, target(p.site)) {
				r.broken(fmt.Errorf("isolation: PE %d was sent a route of site %d with communities %x", p.site, s, communities))
			}
		}
	})
}

// odd describes the first difference from the expected state, or returns "".
func (r *Region) odd() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, p := range r.pes {
		if p.rogue {
			continue
		}
		if p.conn == nil {
			return fmt.Sprintf("PE %d has no session", i)
		}
		for s, site := range r.pes {
			want := uint64(0)
			if i != s && together(r.pool, i, s) {
				if want = site.announced; site.rogue {
					continue // unknown
				}
			}
			if have := p.held[s]; have != want {
				return fmt.Sprintf("PE %d holds routes %x of site %d and ought to hold %x", i, have, s, want)
			}
		}
	}
	return ""
}
