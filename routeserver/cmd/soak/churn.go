package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"weft/routeserver/internal/rawbgp"
	"weft/routeserver/internal/ruleset"
)

// Churn disturbs the region, one disturbance after another.
type Churn struct {
	*rand.Rand
	*Controller
	guests int
	done   map[string]int // number of times, by name
}

// disturbance is an event at the route server; its weight sets how often it occurs.
type disturbance struct {
	name   string
	weight int
	do     func(*Churn) error
}

var disturbances = []disturbance{
	{"membership change", 20, (*Churn).move},
	{"batch of 20", 1, (*Churn).batch},
	{"announcement or withdrawal", 30, (*Churn).announce},
	{"session flap", 4, (*Churn).flap},
	{"refresh asked for", 3, (*Churn).refresh},
	{"enhanced refresh", 2, (*Churn).renew},
	{"look", 4, (*Churn).look},
	{"peer added and removed", 1, (*Churn).guest},
	{"stranger", 2, (*Churn).stranger},
}

// step makes one disturbance.
func (c *Churn) step() error {
	total := 0
	for _, d := range disturbances {
		total += d.weight
	}
	n := c.IntN(total)
	for _, d := range disturbances {
		if n -= d.weight; n < 0 {
			c.done[d.name]++
			if err := d.do(c); err != nil {
				return fmt.Errorf("%s: %w", d.name, err)
			}
			return nil
		}
	}
	return nil
}

func (c *Churn) pe() *PE { return c.region.pes[c.IntN(len(c.region.pes))] }

// goal returns a pool of the site's family, or sometimes none (-1).
func (c *Churn) goal(p *PE) int {
	if c.IntN(5) == 0 {
		return -1
	}
	for {
		if v := c.IntN(c.region.pools); families[v%len(families)] == p.family {
			return v
		}
	}
}

func (c *Churn) move() error {
	p := c.pe()
	return c.Controller.move(map[int]int{p.site: c.goal(p)})
}

func (c *Churn) batch() error {
	moves := map[int]int{}
	for range 20 {
		p := c.pe()
		moves[p.site] = c.goal(p)
	}
	return c.Controller.move(moves)
}

func (c *Churn) announce() error {
	p, some, med := c.pe(), c.Uint64()&c.Uint64(), byte(c.IntN(8))
	if p.rogue {
		return nil
	}
	p.say(func() []byte {
		if c.IntN(2) == 0 {
			some &= p.announced
			p.announced &^= some
			return withdrawal(p.family, p.site, some) // without routes: another End-of-RIB
		}
		some &= p.all
		p.announced |= some
		return announcement(p.family, p.site, some, med)
	})
	return nil
}

// flap ends a session and opens it again: with a NOTIFICATION, without, or (as a PE that restarts gracefully before the
// route server notices) with a new connection while the old one is still open.
func (c *Churn) flap() error {
	p, kind, wait := c.pe(), c.IntN(3), time.Duration(c.IntN(3000))*time.Millisecond
	if p.rogue || !p.away.CompareAndSwap(false, true) {
		return nil
	}
	go func() {
		defer p.away.Store(false)
		old := p.forget()
		if old == nil {
			return
		}
		defer old.Close()
		if kind == 0 {
			_ = write(old, rawbgp.Message(rawbgp.TypeNotification, []byte{6, 4}))
		}
		if kind < 2 || !p.graceful {
			old.Close()
			time.Sleep(wait)
		}
		p.persist()
	}()
	return nil
}

func (c *Churn) refresh() error {
	p := c.pe()
	p.say(func() []byte { return refresh(p.family, 0) })
	return nil
}

// renew announces all routes again between the markers of RFC 7313.
func (c *Churn) renew() error {
	p, med := c.pe(), byte(c.IntN(8))
	if p.rogue {
		return nil
	}
	p.say(func() []byte {
		m := append(refresh(p.family, 1), announcement(p.family, p.site, p.announced, med)...)
		return append(m, refresh(p.family, 2)...)
	})
	return nil
}

// look sends a query that a user could send.
func (c *Churn) look() error {
	a, b := name(c.IntN(len(c.region.pes))), name(c.IntN(len(c.region.pes)))
	paths := []string{
		"/v1/status", "/v1/ruleset", "/v1/routes?table=adj-in&peer=" + a, "/v1/routes?table=adj-out&peer=" + a, "/v1/routes?table=quarantine",
		"/v1/diff?peer=" + a, "/v1/explain?from=" + a + "&to=" + b,
	}
	n := c.IntN(len(paths) + 2)
	if n < len(paths) {
		_, err := c.call("GET", paths[n], nil)
		return err
	}
	stream := []string{"/v1/watch", "/v1/events"}[n-len(paths)]
	wait := time.Duration(c.IntN(3000)) * time.Millisecond
	go func() { // reads the stream for a while and closes it
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		defer cancel()
		request, _ := http.NewRequestWithContext(ctx, "GET", api+stream, nil)
		request.Header.Set("Authorization", "Bearer "+token)
		if reply, err := c.client.Do(request); err == nil {
			_, _ = io.Copy(io.Discard, reply.Body)
			reply.Body.Close()
		}
	}()
	return nil
}

// guest adds a new peer with an endpoint in a pool, opens a session for it, and removes it again.
func (c *Churn) guest() error {
	c.guests++
	g := &PE{region: c.region, site: 60000 + c.guests%5000, family: families[c.IntN(len(families))]}
	unique := fmt.Sprintf("guest%d", c.guests)
	e := endpoint(g.site, g.family.name)
	e.Name, e.Peer = unique, unique
	peer := ruleset.Peer{Name: unique, Address: fmt.Sprintf("127.2.%d.%d", c.guests/250%250, c.guests%250+1), ASN: asn}
	err := c.change(ruleset.Operation{Op: ruleset.SetPeer, Peer: &peer}, ruleset.Operation{Op: ruleset.SetEndpoint, Endpoint: &e})
	if err != nil {
		return err
	}
	conn, _, err := g.dial(peer.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	return c.change(ruleset.Operation{Op: ruleset.RemoveEndpoint, Name: unique}, ruleset.Operation{Op: ruleset.RemovePeer, Name: unique})
}

// stranger makes attempts that the route server must refuse: at BGP, also silently from a PE's address, and at the API.
func (c *Churn) stranger() error {
	from := []string{"127.9.9.9", address(c.IntN(len(c.region.pes)))}[c.IntN(2)]
	wait := time.Duration(c.IntN(2000)) * time.Millisecond
	go func() {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: time.Second}
		if conn, err := d.Dial("tcp", server+":179"); err == nil {
			time.Sleep(wait)
			conn.Close()
		}
	}()
	_, err := c.call("POST", "/v1/changes", map[string]any{"base": c.generation, "generation": c.generation + 1, "ops": []any{map[string]string{"op": "dance"}}})
	if err == nil || !strings.Contains(err.Error(), "400") {
		return fmt.Errorf("an operation that there is not is answered with %v", err)
	}
	return nil
}
