package main

import (
	"context"
	"math/rand/v2"
	"time"

	"weft/routeserver/internal/rawbgp"
)

// attack sends messages that the protocol permits, so often that they could harm others.
type attack func(*PE, context.Context, *rand.Rand)

var attacks = []attack{(*PE).hoard, (*PE).pester, (*PE).flicker, (*PE).withdrawNothing, (*PE).storm}

// besiege lets the hostile PE run its attacks one after the other until the context ends.
func (p *PE) besiege(ctx context.Context, r *rand.Rand) {
	for n := 0; ctx.Err() == nil; n++ {
		if !p.connected() && p.connect() != nil {
			rest(ctx, 100*time.Millisecond)
			continue
		}
		attacks[n%len(attacks)](p, ctx, r)
		rest(ctx, time.Duration(r.IntN(1000))*time.Millisecond)
	}
}

// hoard announces each route twice, each time with 3,000 bytes of communities that no other route has: the route server
// must free the first ones.
func (p *PE) hoard(_ context.Context, r *rand.Rand) {
	for range 2 {
		for route := uint64(1); route&p.all != 0; route <<= 1 {
			communities := make([]byte, 3000)
			for i := range communities {
				communities[i] = byte(r.Uint32())
			}
			p.utter(announcement(p.family, p.site, route, 0, rawbgp.Attribute(0xc0, 8, communities)))
		}
	}
}

// pester asks for all routes 4,000 times and reads nothing for three seconds.
func (p *PE) pester(ctx context.Context, _ *rand.Rand) {
	p.asleep.Store(time.Now().Add(3 * time.Second).UnixNano())
	var asked []byte
	for range 4000 {
		asked = append(asked, refresh(p.family, 0)...)
	}
	p.utter(asked)
	rest(ctx, 3*time.Second)
}

// flicker announces a route and withdraws it, 500 times as fast as it can.
func (p *PE) flicker(context.Context, *rand.Rand) {
	for range 500 {
		p.utter(append(announcement(p.family, p.site, 1, 0), withdrawal(p.family, p.site, 1)...))
	}
}

// withdrawNothing withdraws 64 routes that it never announced, for each of 200 random sites.
func (p *PE) withdrawNothing(_ context.Context, r *rand.Rand) {
	for range 200 {
		p.utter(withdrawal(p.family, r.IntN(1<<16), ^uint64(0)))
	}
}

// storm opens and ends 20 sessions, some of them without a NOTIFICATION.
func (p *PE) storm(ctx context.Context, r *rand.Rand) {
	for range 20 {
		if conn := p.forget(); conn != nil {
			if r.IntN(2) == 0 {
				_ = write(conn, rawbgp.Message(rawbgp.TypeNotification, []byte{6, 4}))
			}
			conn.Close()
		}
		if ctx.Err() != nil {
			return
		}
		_ = p.connect() // the route server may refuse: it comes too often
	}
}

func (p *PE) connected() bool {
	p.region.mu.Lock()
	defer p.region.mu.Unlock()
	return p.conn != nil
}

// utter sends data without a record of the announced routes: nobody checks the routes of a hostile PE.
func (p *PE) utter(data []byte) { p.say(func() []byte { return data }) }

func rest(ctx context.Context, long time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(long):
	}
}
