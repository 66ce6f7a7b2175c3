// Package out carries routes from the RIB to the neighbours. It encodes batches of routes once for all recipients, and has
// a bounded queue for each neighbour that never blocks the others.
package out

import (
	"slices"
	"sync"
	"weak"

	"weft/routeserver/internal/wire"
)

// Batch is routes of one family with the same attributes, or withdrawals. It never changes, and many queues share it.
type Batch struct {
	Family     wire.Family
	Attributes *wire.Attributes // nil: the NLRIs are withdrawn
	Reflection wire.Reflection
	NLRIs      []string
	bytes      int // memory of the batch, without the encoded messages

	mu      sync.Mutex
	encoded []*encoding              // by kind of recipient and number of route targets; nearly always one
	passing []weak.Pointer[encoding] // the same for long attributes: kept only while a recipient is being written to
}

// slim is the length of attributes in bytes up to which a batch keeps its encoded messages for the next recipient.
const slim = 1024

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

// batchBytes and nlriBytes are the memory of a batch and of each of its NLRIs, beside their content.
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

// Encoded returns the batch's messages for a kind of recipient, and the routes that do not fit into any. Each message is to
// be followed by route targets of the given length in bytes.
func (b *Batch) Encoded(k wire.Kind, targets int) (messages [][]byte, skipped []string) {
	e := b.messages(k, targets/8, true)
	return e.messages, e.skipped
}

// messages encodes the batch for a kind of recipient and a number of route targets, once. Messages are at most 4096 bytes
// long even if longer ones were negotiated, so that recipients can share them. With extended, longer ones (RFC 8654) carry
// a route that needs them. Skipped routes do not fit and are not sent (RFC 8654 section 5).
func (b *Batch) messages(k wire.Kind, targets int, extended bool) *encoding {
	limit := wire.MaxLength
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		e := b.lookup(k, targets, limit)
		if len(e.skipped) == 0 || !extended || limit == wire.MaxExtended {
			return e
		}
		limit = wire.MaxExtended
	}
}

func (b *Batch) lookup(k wire.Kind, targets, limit int) *encoding {
	for _, e := range b.encoded {
		if e.is(k, targets, limit) {
			return e
		}
	}
	for _, passing := range b.passing {
		if e := passing.Value(); e != nil && e.is(k, targets, limit) {
			return e
		}
	}
	e := b.encode(k, targets, limit)
	if b.Attributes == nil || b.Attributes.Bytes() <= slim || len(e.messages) == 0 {
		b.encoded = append(b.encoded, e)
	} else {
		b.passing = slices.DeleteFunc(b.passing, func(p weak.Pointer[encoding]) bool { return p.Value() == nil })
		b.passing = append(b.passing, weak.Make(e))
	}
	return e
}

func (e *encoding) is(k wire.Kind, targets, limit int) bool {
	return e.kind == k && e.targets == targets && e.limit == limit
}

func (b *Batch) encode(k wire.Kind, targets, limit int) *encoding {
	e := &encoding{kind: k, targets: targets, limit: limit}
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
	return e
}

// size estimates the bytes of all messages. Encoded messages are kept, so their buffer should not be twice as large as
// needed.
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
