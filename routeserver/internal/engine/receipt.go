package engine

import (
	"maps"
	"slices"
	"time"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/ruleset"
)

// PeerReceipt is what one peer was sent. WrittenMicros is the time from the start of the transaction until the last message
// was handed to the kernel's socket; nil if that had not happened when the reply left.
type PeerReceipt struct {
	Peer          string `json:"peer"`
	Announced     int    `json:"announced"`
	Withdrawn     int    `json:"withdrawn"`
	Held          int    `json:"held,omitempty"`     // routes that the poison-route guard held back
	Withheld      int    `json:"withheld,omitempty"` // announcements that do not fit into a message that the peer accepts
	WrittenMicros *int64 `json:"written_us"`
}

// Receipt is the reply to a change or a replacement. Peers lists the peers that the transaction concerned.
type Receipt struct {
	RouteServer string        `json:"route_server"`
	Generation  uint64        `json:"generation"`
	Previous    uint64        `json:"previous"`
	Announced   int           `json:"announced"`
	Withdrawn   int           `json:"withdrawn"`
	Held        int           `json:"held,omitempty"`
	Peers       []PeerReceipt `json:"peers"`
	Micros      int64         `json:"duration_us"`
	DryRun      bool          `json:"dry_run"`
}

func (r *Receipt) total(start time.Time) {
	for _, p := range r.Peers {
		r.Announced += p.Announced
		r.Withdrawn += p.Withdrawn
		r.Held += p.Held
	}
	r.Micros = now().Sub(start).Microseconds()
}

// lines returns what each peer was sent, sorted by name.
func (t *transaction) lines() []PeerReceipt {
	names := maps.Clone(t.announced)
	maps.Copy(names, t.withdrawn)
	maps.Copy(names, t.held)
	maps.Copy(names, t.withheld)
	lines := []PeerReceipt{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		lines = append(lines, PeerReceipt{
			Peer: name, Announced: t.announced[name], Withdrawn: t.withdrawn[name], Held: t.held[name], Withheld: t.withheld[name],
		})
	}
	return lines
}

// watch asks the queues of all peers concerned to report when they are written. The returned function waits for that; the
// caller calls it without the lock.
func (ss *sessions) watch(t *transaction, start time.Time) func() []PeerReceipt {
	type written struct {
		line  int
		after int64
		ok    bool
	}
	lines := t.lines()
	reports := make(chan written, len(lines))
	pending := 0
	for i := range lines {
		if p := ss.peers[lines[i].Peer]; p != nil {
			pending++
			p.Queue.OnWritten(func(ok bool) { reports <- written{i, now().Sub(start).Microseconds(), ok} })
		}
	}
	longest := ss.ReceiptWait
	if longest == 0 {
		longest = patience
	}
	return func() []PeerReceipt {
		deadline := time.NewTimer(longest)
		defer deadline.Stop()
		for ; pending > 0; pending-- {
			select {
			case w := <-reports:
				if w.ok {
					lines[w.line].WrittenMicros = &w.after
				}
			case <-deadline.C:
				return lines
			}
		}
		return lines
	}
}

// rehearse returns what a rule set would send, and changes nothing. It does not predict the effect on duplicates, or on
// single routes that violate other permits.
func (lr *locRIB) rehearse(next *ruleset.Set, start time.Time) *Receipt {
	delta := ruleset.Compare(lr.set, next)
	steps := lr.plan(next, delta)
	t := newTransaction()
	for _, s := range steps {
		if s.group.Duplicate {
			continue
		}
		for _, sent := range s.group.Out {
			if s.desired[sent.Peer] == "" {
				lr.rehearseFor(t, s.group, sent.Peer, "")
			}
		}
		for peer, targets := range s.desired {
			lr.rehearseFor(t, s.group, peer, targets)
		}
	}
	judged := map[string]bool{}
	for _, site := range delta.Sites {
		judged[site] = true
	}
	for _, pair := range delta.Pairs {
		for g := range lr.table.Endpoint(pair.Endpoint) {
			if next.Site(pair.Endpoint) == nil || judged[pair.Endpoint] && !lr.stays(next, pair.Endpoint, g) {
				continue
			}
			lr.rehearseFor(t, g, pair.Peer, lr.wanted(pair.Peer, g, pair.Targets))
		}
	}
	r := &Receipt{RouteServer: lr.Name, Generation: next.Generation, Previous: lr.set.Generation, Peers: t.lines(), DryRun: true}
	r.total(start)
	return r
}

// stays reports whether a group keeps its endpoint, so that only its recipients change.
func (lr *locRIB) stays(next *ruleset.Set, endpoint string, g *rib.Group) bool {
	site, reason := lr.judge(next, g)
	return reason == "" && site == endpoint
}

// rehearseFor counts what retarget would send a peer of a group with other route targets.
func (ss *sessions) rehearseFor(t *transaction, g *rib.Group, peer, targets string) {
	was, _ := g.SentTo(peer)
	if was.Targets == targets {
		return
	}
	s, nlris := ss.sending(peer, g, targets), g.NLRIs()
	gone, _ := rib.Part(nlris, was.Room)
	_, gone = rib.Part(gone, s.Room)
	ss.foreseeWithdrawal(t, peer, g, gone)
	if targets != "" {
		fit, rest := rib.Part(nlris, s.Room)
		ss.foresee(t, peer, g, fit)
		count(t.withheld, peer, len(rest))
	}
}

// count adds to a peer's count, unless there is nothing to add.
func count(to map[string]int, peer string, n int) {
	if n > 0 {
		to[peer] += n
	}
}
