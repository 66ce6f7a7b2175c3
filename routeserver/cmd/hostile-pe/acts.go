package main

import (
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"time"

	"weft/routeserver/internal/poisons"
	"weft/routeserver/internal/rawbgp"
)

const (
	turn  = 10 * time.Second      // duration of one act
	pace  = 5 * time.Millisecond  // between two messages of most acts
	slow  = 50 * time.Millisecond // between two poisons
	large = 60_000                // octets of communities
)

// besiege runs one act after the other until the context ends.
func (p *pe) besiege(ctx context.Context) {
	for ctx.Err() == nil {
		p.act(ctx, false, p.poison)
		p.act(ctx, false, p.refresh)
		p.act(ctx, false, p.churn)
		p.act(ctx, true, p.swell)
		p.act(ctx, false, p.oversize)
		p.act(ctx, false, p.garbage)
		p.flap(ctx)
	}
}

// act runs a function for a turn, with a new session whenever it has lost one. If extended, messages have up to 65,535
// octets (RFC 8654).
func (p *pe) act(ctx context.Context, extended bool, do func(context.Context, *session)) {
	ctx, cancel := context.WithTimeout(ctx, turn)
	defer cancel()
	for ctx.Err() == nil {
		s, err := p.dial(ctx, extended)
		if err != nil {
			p.done.add("sessions refused", 1)
			pause(ctx, retry)
			continue
		}
		p.done.add("sessions", 1)
		stop := context.AfterFunc(ctx, func() { s.Close() }) // writes may block
		do(ctx, s)
		stop()
		s.Close()
	}
}

// poison announces the corpus and withdraws it.
func (p *pe) poison(ctx context.Context, s *session) {
	go s.listen(p.done)
	all := poisons.In(poisons.EVPN, p.site)
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if !p.hurting {
		all = slices.DeleteFunc(all, func(one poisons.Poison) bool { return len(one.Hurts) > 0 })
	}
	for _, one := range all {
		if !s.say(one.Announcement) || !pause(ctx, slow) {
			return
		}
		p.done.add("poisons announced", 1)
	}
	for _, one := range all {
		if !s.say(one.Withdrawal) {
			return
		}
	}
}

// refresh asks for all routes again and again, and reads none.
func (p *pe) refresh(ctx context.Context, s *session) {
	if tcp, ok := s.Conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(4096)
	}
	burst := []byte{}
	for range 100 {
		burst = append(burst, rawbgp.Message(rawbgp.TypeRefresh, []byte{0, 25, 0, 70})...)
	}
	for s.say(burst) {
		p.done.add("ROUTE-REFRESH sent", 100)
		if !pause(ctx, slow) {
			return
		}
	}
}

// churn announces as many MACs as its endpoint may have, then announces and withdraws one more, again and again.
func (p *pe) churn(ctx context.Context, s *session) {
	go s.listen(p.done)
	for i := range p.macs {
		if !s.say(p.mac(i, nil)) {
			return
		}
	}
	p.done.add("MACs announced", p.macs)
	for i := 0; pause(ctx, pace); i++ {
		m := p.mac(p.macs, nil)
		if i%2 == 1 {
			m = p.withdrawal(p.macs)
		}
		if !s.say(m) {
			return
		}
		p.done.add("one MAC more, or less again", 1)
	}
}

// swell announces routes with 60,000 octets of communities, different ones each time.
func (p *pe) swell(ctx context.Context, s *session) {
	go s.listen(p.done)
	for i := 0; pause(ctx, pace); i++ {
		communities := make([]byte, large)
		for at := range communities {
			communities[at] = byte(rand.Uint32())
		}
		if !s.say(p.mac(i%p.macs, rawbgp.Attribute(0xc0, 8, communities))) {
			return
		}
		p.done.add("routes of 60 KB", 1)
	}
}

// oversize sends messages longer than a session without RFC 8654 allows.
func (p *pe) oversize(ctx context.Context, s *session) {
	go s.listen(p.done)
	for i := 0; pause(ctx, slow); i++ {
		if !s.say(p.mac(i%p.macs, rawbgp.Attribute(0xc0, 8, make([]byte, 4096+4*(i%1000))))) {
			return
		}
		p.done.add("UPDATEs longer than 4,096", 1)
	}
}

// garbage sends malformed messages until the session ends.
func (p *pe) garbage(ctx context.Context, s *session) {
	go s.listen(p.done)
	noise := make([]byte, 1+rand.IntN(4000))
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	good := p.mac(rand.IntN(p.macs), nil)
	bad := [][]byte{
		noise, rawbgp.Message(byte(rand.IntN(8)), noise), good[:rand.IntN(len(good))],
		rawbgp.Update(noise), rawbgp.Update(rawbgp.Attribute(0x80, 14, noise)), rawbgp.Message(rawbgp.TypeUpdate, noise),
		rawbgp.Message(rawbgp.TypeRefresh, noise[:min(len(noise), 5)]), append(good[:18:18], noise...),
	}
	for pause(ctx, slow) && s.say(bad[rand.IntN(len(bad))]) {
		p.done.add("garbage sent", 1)
	}
}

// flap opens sessions and drops them for a turn, as fast as the route server allows.
func (p *pe) flap(ctx context.Context) {
	for end := time.Now().Add(turn); ctx.Err() == nil && time.Now().Before(end); {
		if s, err := p.dial(ctx, false); err == nil {
			p.done.add("sessions dropped", 1)
			s.say(p.mac(0, nil))
			s.Close()
		} else {
			p.done.add("connections refused", 1)
		}
		pause(ctx, pace)
	}
}

// mac returns an announcement of one of its MACs, with more attributes after the usual ones.
func (p *pe) mac(i int, more []byte) []byte {
	hop := p.site.Hop.AsSlice()
	reach := append(append([]byte{0, 25, 70, byte(len(hop))}, hop...), 0)
	return rawbgp.Update(rawbgp.Attribute(0x80, 14, append(reach, p.nlri(i)...)), []byte{0x40, 1, 1, 0}, []byte{0x40, 2, 0},
		[]byte{0x40, 5, 4, 0, 0, 0, 100}, rawbgp.Attribute(0xc0, 16, p.site.RT[:]), more)
}

func (p *pe) withdrawal(i int) []byte {
	return rawbgp.Update(rawbgp.Attribute(0x80, 15, append([]byte{0, 25, 70}, p.nlri(i)...)))
}

// nlri returns a MAC/IP advertisement without an address (RFC 7432 section 7.2).
func (p *pe) nlri(i int) []byte {
	v := append(append([]byte{2, 33}, p.site.RD[:]...), make([]byte, 14)...)
	return append(v, 48, 2, 0xbb, 0, 0, byte(i>>8), byte(i), 0, 0, 0, 100)
}

// pause waits and returns false if the context has ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
