// Package out is the way from the RIB to the neighbours: batches of routes that are encoded once for all who get them,
// and a queue per neighbour that never blocks the others and stays bounded.
package out

import (
	"sync"

	"weft/routeserver/wire"
)

// Batch is routes of one family with the same attributes, or withdrawals. It never changes, and many queues share it.
type Batch struct {
	Family     wire.Family
	Attributes *wire.Attributes // nil: the NLRIs are withdrawn
	Reflection wire.Reflection
	NLRIs      []string
	bytes      int // what it keeps in memory, without what is encoded

	mu      sync.Mutex
	encoded []encoding // by kind of recipient and number of route targets; nearly always one
}

type encoding struct {
	kind           wire.Kind
	targets, limit int
	messages       [][]byte // without the route targets
	skipped        []string
}

// Announce makes a batch of announcements.
func Announce(f wire.Family, a *wire.Attributes, r wire.Reflection, nlris []string) *Batch {
	return newBatch(f, a, r, nlris)
}

// Withdraw makes a batch of withdrawals.
func Withdraw(f wire.Family, nlris []string) *Batch {
	return newBatch(f, nil, wire.Reflection{}, nlris)
}

// batchBytes and nlriBytes are what a batch and an NLRI of it take beside what they say.
const batchBytes, nlriBytes = 256, 16

func newBatch(f wire.Family, a *wire.Attributes, r wire.Reflection, nlris []string) *Batch {
	b := &Batch{Family: f, Attributes: a, Reflection: r, NLRIs: nlris, bytes: batchBytes}
	for _, n := range nlris {
		b.bytes += len(n) + nlriBytes
	}
	if a != nil {
		b.bytes += a.Bytes()
	}
	return b
}

// Encoded gives the batch's messages for a kind of recipient, each of them to be followed by route targets of the given length in bytes, and
// the routes that do not fit into any.
func (b *Batch) Encoded(k wire.Kind, targets int) (messages [][]byte, skipped []string) {
	return b.messages(k, targets/8, true)
}

// messages encodes the batch for a kind of recipient and this many route targets, once. Messages are at most 4096 bytes even where longer ones
// were negotiated, so that they can be shared; extended (RFC 8654) are used for a route that needs it. skipped are
// routes that do not fit (RFC 8654 section 5: they are not sent).
func (b *Batch) messages(k wire.Kind, targets int, extended bool) (messages [][]byte, skipped []string) {
	limit := wire.MaxLength
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		e := b.lookup(k, targets, limit)
		if len(e.skipped) == 0 || !extended || limit == wire.MaxExtended {
			return e.messages, e.skipped
		}
		limit = wire.MaxExtended
	}
}

func (b *Batch) lookup(k wire.Kind, targets, limit int) *encoding {
	for i := range b.encoded {
		if e := &b.encoded[i]; e.kind == k && e.targets == targets && e.limit == limit {
			return e
		}
	}
	e := encoding{kind: k, targets: targets, limit: limit}
	all := make([]byte, 0, b.size(limit))
	var ends []int
	if b.Attributes == nil {
		all, ends = wire.AppendWithdrawals(all, b.Family, b.NLRIs, limit)
	} else {
		all, ends, e.skipped = b.Attributes.AppendAnnouncements(all, b.Family, b.NLRIs, b.Reflection, k, targets, limit)
	}
	start := 0
	for _, end := range ends {
		e.messages = append(e.messages, all[start:end:end])
		start = end
	}
	b.encoded = append(b.encoded, e)
	return &b.encoded[len(b.encoded)-1]
}

// size estimates the bytes of all messages: what is encoded is kept, and is not to be twice as large as need be.
func (b *Batch) size(limit int) int {
	nlris, head := 0, 64
	for _, n := range b.NLRIs {
		nlris += len(n)
	}
	if a := b.Attributes; a != nil {
		head += len(a.Path) + len(a.NextHop) + len(a.ClusterList) + len(a.Communities)
	}
	return nlris + (nlris/limit+1)*head
}
