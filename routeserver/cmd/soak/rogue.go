package main

import (
	"context"
	"math/rand/v2"
	"time"

	"weft/routeserver/internal/rawbgp"
)

// plague lets the rogue PE send garbage and connect again until the context ends.
func (p *PE) plague(ctx context.Context, r *rand.Rand) {
	for ctx.Err() == nil {
		p.region.mu.Lock()
		up := p.conn != nil
		p.announced = r.Uint64() & p.all
		p.region.mu.Unlock()
		if !up && p.connect() != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		p.say(func() []byte { return p.garbage(r) })
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(r.IntN(1000)) * time.Millisecond):
		}
		if r.IntN(4) == 0 {
			if conn := p.forget(); conn != nil { // possibly in the middle of a message
				conn.Close()
			}
		}
	}
}

// garbage returns bytes that no PE should send. They never announce another site's routes, since that would be
// well-formed.
func (p *PE) garbage(r *rand.Rand) []byte {
	noise := make([]byte, r.IntN(2000))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	good := announcement(p.family, p.site, p.all, 0)
	at := 19 + 4 // first attribute: ORIGIN, with a length of two bytes
	switch r.IntN(10) {
	case 0:
		return noise // no marker
	case 1:
		return rawbgp.Message(byte(r.IntN(8)), noise)
	case 2:
		good[at+4] = 9 // ORIGIN: treat-as-withdraw
	case 3:
		good[at] ^= 0xc0 // the attribute's flags
	case 4:
		good[at+3] = byte(r.IntN(256)) // the attribute's length
	case 5:
		good[19+3] ^= byte(1 + r.IntN(255)) // the length of all attributes
	case 6:
		good[16], good[17] = 0xff, 0xff // the length of the message
	case 7:
		return good[:r.IntN(len(good))] // half a message
	case 8:
		return rawbgp.Update(rawbgp.Attribute(0xc0, 16, noise[:len(noise)/2]), rawbgp.Attribute(0xc0, 200, noise)) // no route
	case 9:
		return rawbgp.Message(rawbgp.TypeOpen, noise[:min(len(noise), 100)])
	}
	return good
}
