package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"net"
	"time"

	"weft/routeserver/internal/rawbgp"
)

// PE is an emulated PE: a session and the routes that it holds. Its reader changes them with the Receiver's read lock;
// all else takes the write lock.
type PE struct {
	index   int
	conn    net.Conn
	held    map[int]*[]uint64 // by site, a bit per route
	counts  map[int]int
	closing bool
}

// connect opens PE i's session and reads from it in the background. It retries until the daemon takes the session.
func (r *Receiver) connect(i int, until time.Time) error {
	var last error
	for time.Now().Before(until) {
		if last = r.try(i); last == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("PE %s gets no session: %w", address(i), last)
}

func (r *Receiver) try(i int) error {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address(i))}, Timeout: 5 * time.Second}
	conn, err := d.Dial("tcp", server+":179")
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(conn, 4096)
	if err := rawbgp.Shake(conn, in, r.world.family.open(routerID(i), r.rtc), 10*time.Second); err != nil {
		conn.Close()
		return err
	}
	p := &PE{index: i, conn: conn, held: map[int]*[]uint64{}, counts: map[int]int{}}
	r.mu.Lock()
	r.pes[i] = p
	r.mu.Unlock()
	if r.rtc {
		if _, err := conn.Write(append(membership(i), endOfMembership...)); err != nil {
			return err
		}
	}
	go r.listen(p, in)
	return nil
}

func (r *Receiver) listen(p *PE, in *bufio.Reader) {
	buf := make([]byte, rawbgp.Longest)
	for {
		kind, body, err := rawbgp.Read(in, buf)
		if err == nil && kind == 3 {
			err = fmt.Errorf("NOTIFICATION %x", body)
		}
		if err == nil && kind == 5 && len(body) == 4 && body[3] == r.world.family.safi {
			// In a goroutine: a PE that writes while nobody reads could block both sides.
			go func() { _, _ = p.conn.Write(r.announced(p.index)) }()
		}
		if err == nil && kind == 2 {
			err = r.update(p, body)
		}
		if err != nil {
			r.mu.RLock()
			closing := p.closing
			r.mu.RUnlock()
			if !closing {
				r.fail(fmt.Errorf("the session of %s ended: %w", address(p.index), err))
			}
			return
		}
	}
}

// announced returns the present announcements of PE i.
func (r *Receiver) announced(i int) []byte {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.world.silent[i] {
		return r.world.family.endOfRIB()
	}
	return append(r.world.family.announcements(i, r.world.routes, rt(i)), r.world.family.endOfRIB()...)
}

// update parses an UPDATE and checks each route in it.
func (r *Receiver) update(p *PE, body []byte) error {
	bad := errors.New("an UPDATE is malformed")
	if len(body) < 4 || body[0]|body[1] != 0 {
		return bad
	}
	rest := body[4:]
	if len(rest) != int(binary.BigEndian.Uint16(body[2:])) {
		return bad
	}
	var reach, unreach, targets []byte
	for len(rest) > 0 {
		if len(rest) < 4 {
			if len(rest) < 3 {
				return bad
			}
		}
		head, n := 3, int(rest[2])
		if rest[0]&0x10 != 0 {
			if len(rest) < 4 {
				return bad
			}
			head, n = 4, int(binary.BigEndian.Uint16(rest[2:]))
		}
		if len(rest) < head+n {
			return bad
		}
		value := rest[head : head+n]
		switch rest[1] {
		case 14:
			reach = value
		case 15:
			unreach = value
		case 16:
			targets = value
		}
		rest = rest[head+n:]
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.pes[p.index] != p {
		return nil // an UPDATE of an earlier session
	}
	if len(unreach) > 3 && unreach[2] == r.world.family.safi {
		if err := r.each(p, unreach[3:], nil, false); err != nil {
			return err
		}
	}
	if len(reach) > 5 && reach[2] == r.world.family.safi {
		if start := 5 + int(reach[3]); start <= len(reach) {
			return r.each(p, reach[start:], targets, true)
		}
		return bad
	}
	return nil
}

// each applies NLRIs to the routes that the PE holds.
func (r *Receiver) each(p *PE, nlris, targets []byte, announced bool) error {
	f := r.world.family
	for ; len(nlris) > 0; nlris = nlris[f.size:] {
		if len(nlris) < f.size {
			return errors.New("an NLRI is too short")
		}
		s, k := f.read(nlris)
		if s < 0 || s >= len(r.pes) || k < 0 || k >= r.world.routes {
			return errors.New("an NLRI arrived that no PE announced")
		}
		if s == p.index {
			r.own.Add(1) // a reflected route of the PE itself, which a PE ignores (RFC 4456 section 8)
			continue
		}
		bitmap := p.held[s]
		if bitmap == nil {
			b := make([]uint64, r.world.routes/64+1)
			bitmap = &b
			p.held[s] = bitmap
		}
		word, mask := &(*bitmap)[k/64], uint64(1)<<(k%64)
		if announced {
			r.check(p, s, targets)
		}
		if *word&mask != 0 == announced {
			continue
		}
		*word ^= mask
		step := 1
		if announced {
			p.counts[s]++
		} else {
			p.counts[s]--
			step = -1
		}
		if r.world.wants(p.index, s) {
			step = -step
		}
		if r.missing.Add(int64(step)) == 0 {
			r.reached()
		}
	}
	return nil
}

// check verifies the pool and every route target of an announcement. Without it the figures would mean nothing.
func (r *Receiver) check(p *PE, s int, targets []byte) {
	r.checked.Add(1)
	if !r.world.allows(p.index, s) {
		r.violation(fmt.Sprintf("PE %d was sent a route of site %d, of another pool", p.index, s))
		return
	}
	mine := rt(p.index)
	if bytes.Equal(targets, mine) {
		return
	}
	if !r.shared {
		r.violation(fmt.Sprintf("PE %d was sent a route of site %d with communities %x, not its own route target", p.index, s, targets))
		return
	}
	found := false
	for c := targets; len(c) >= 8; c = c[8:] {
		if c[1] != mine[1] {
			continue // not a route target: gobgpd adds MAC mobility to EVPN routes
		}
		t := int(binary.BigEndian.Uint32(c[4:8])) - 1
		found = found || bytes.Equal(c[:8], mine)
		if !bytes.Equal(c[:4], mine[:4]) || t < 0 || t >= len(r.pes) || !r.world.allows(p.index, t) && !r.world.allows(s, t) {
			r.violation(fmt.Sprintf("PE %d was sent a route of site %d with a foreign community %x", p.index, s, c[:8]))
			return
		}
	}
	if !found {
		r.violation(fmt.Sprintf("PE %d was sent a route of site %d without its route target", p.index, s))
	}
}

// lacks counts the routes that PE i has too few or too many.
func (r *Receiver) lacks(i int) int64 {
	p, n := r.pes[i], 0
	if i == r.lost {
		return 0
	}
	for s := range r.pes {
		have := 0
		if p != nil {
			have = p.counts[s]
		}
		if r.world.wants(i, s) {
			n += r.world.routes - have
		} else {
			n += have
		}
	}
	return int64(n)
}

// recount compares the counters with the bitmaps, as a check of the receiver itself.
func (p *PE) recount() error {
	for s, bitmap := range p.held {
		n := 0
		for _, w := range *bitmap {
			n += bits.OnesCount64(w)
		}
		if n != p.counts[s] {
			return fmt.Errorf("PE %d holds %d routes of site %d but counted %d", p.index, n, s, p.counts[s])
		}
	}
	return nil
}
