package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/zeebo/xxh3"

	"weft/agents/transfer/internal/stream"
)

// Encoder makes batches of a stream's records.
type Encoder struct {
	// Collisions counts candidates of the index whose bytes were others.
	Collisions uint64
	// Without are the techniques that are left out.
	Without Techniques
	// Apart keeps pages out of the mirror that it does not have yet: on a fast line a mirror takes more time than it saves.
	Apart bool

	memory  *Memory
	sources []Pages
	index   map[uint64]place
	order   []int // by block of the stream: its index in the mirror
	batch   *Batch
	last    int      // the page of the operation before
	sent    []uint64 // a bit for each page that the stream has had
	anew    bool     // what the mirror had before this stream counts no more
}

// place is a page that may have certain bytes: the index is a hint, and the bytes are compared.
type place struct {
	source uint16
	page   uint32
}

// Reference is a source that both ends have: its pages, and the hash of each (Hash).
type Reference struct {
	Pages  Pages
	Hashes []uint64
}

// Hash returns the hash by which pages are found.
func Hash(page []byte) uint64 { return xxh3.Hash(page) }

const mostDelta = stream.PageSize / 2 // beyond, zstd does better on the page itself

// NewEncoder returns an encoder with that mirror. `references` are known to both ends, in the same order.
func NewEncoder(memory *Memory, references ...Reference) *Encoder {
	e := &Encoder{memory: memory, sources: []Pages{memory}, index: map[uint64]place{}, batch: newBatch()}
	for s, reference := range references {
		e.sources = append(e.sources, reference.Pages)
		for n, hash := range reference.Hashes {
			e.index[hash] = place{uint16(s + 1), uint32(n)}
		}
	}
	return e
}

// Forget stops the use of all that was there before the stream, references and a kept mirror: the other end's may be
// others.
func (e *Encoder) Forget() {
	e.anew = true
	for hash, at := range e.index {
		if at.source != 0 || !e.had(int(at.page)) {
			delete(e.index, hash)
		}
	}
}

// had reports whether the stream has had a page.
func (e *Encoder) had(n int) bool { return e.sent[n/64]&(1<<(n%64)) != 0 }

// Add adds a record to the batch. `blocks` are those that the stream has announced so far.
func (e *Encoder) Add(record stream.Record, blocks []stream.Block) error {
	for _, block := range blocks[len(e.order):] {
		index, grown, err := e.memory.place(block)
		if err != nil {
			return err
		}
		if grown {
			e.op(Block, uint64(len(block.Name)), block.Size/stream.PageSize)
			e.batch.literals = append(e.batch.literals, block.Name...)
		}
		e.order = append(e.order, index)
		e.sent = append(e.sent, make([]uint64, words(e.memory.Len())-len(e.sent))...)
	}
	var err error
	if e.batch.Stream, err = record.Append(e.batch.Stream, blocks); err != nil {
		return err
	}
	if record.Kind == stream.Opaque {
		e.op(Bytes, uint64(len(record.Bytes)))
		e.batch.literals = append(e.batch.literals, record.Bytes...)
		return nil
	}
	if record.Kind == stream.Zero && record.Fill != 0 {
		return fmt.Errorf("a page of %#x", record.Fill)
	}
	e.page(record, e.memory.first[e.order[record.Block]]+int(record.Offset/stream.PageSize))
	return nil
}

// Pending returns the bytes of the stream that the batch has so far.
func (e *Encoder) Pending() int { return len(e.batch.Stream) }

// Len returns the bytes that there are to compress so far.
func (e *Encoder) Len() int { return e.batch.Len() }

// Literals returns the bytes that the batch has so far for the other end.
func (e *Encoder) Literals() int { return len(e.batch.literals) }

// Full reports whether the batch has as much as a decoder is sure to take.
func (e *Encoder) Full() bool {
	return len(e.batch.Stream) >= MostStream/2 || len(e.batch.code) >= mostCode/2
}

// Flush returns the batch, and begins the next one.
func (e *Encoder) Flush() *Batch {
	done := e.batch
	e.batch, e.last = newBatch(), 0
	return done
}

func (e *Encoder) page(record stream.Record, n int) {
	mine, had, before := e.memory.Page(n), e.had(n), len(e.batch.literals)
	known := mine != nil && e.memory.known(n)
	at := len(e.batch.code)
	if e.Apart && !known {
		mine = nil
	}
	if record.Kind == stream.Zero {
		if known { // else it is zero already, and takes no memory
			clear(mine)
		}
		e.paged(Zero, record, n)
	} else {
		e.content(record, n, mine, known && (had || !e.anew))
		copy(mine, record.Bytes)
	}
	if mine != nil {
		e.memory.note(n)
	} else {
		e.batch.code[at] |= apart
	}
	if had {
		e.batch.Repeated.Pages++
		e.batch.Repeated.Literals += len(e.batch.literals) - before
	}
	e.sent[n/64] |= 1 << (n % 64)
}

// content encodes a page that is not zero. `mine` is the mirror's, nil if it is not mirrored.
func (e *Encoder) content(record stream.Record, n int, mine []byte, known bool) {
	known = known && !e.Without.Has(Deltas)
	if known && bytes.Equal(mine, record.Bytes) {
		e.paged(Same, record, n)
		return
	}
	hash := Hash(record.Bytes)
	candidate, found := e.index[hash]
	if mine != nil {
		e.index[hash] = place{0, uint32(n)}
	}
	if found && !e.Without.Has(Known) && (candidate.source != 0 || int(candidate.page) != n) {
		if bytes.Equal(e.sources[candidate.source].Page(int(candidate.page)), record.Bytes) {
			e.paged(Copy, record, n, uint64(candidate.source), uint64(candidate.page))
			return
		}
		e.Collisions++
	}
	if known {
		began := len(e.batch.literals)
		var fits bool
		if e.batch.literals, fits = appendDelta(e.batch.literals, mine, record.Bytes, mostDelta); fits {
			e.paged(Delta, record, n, uint64(len(e.batch.literals)-began))
			return
		}
	}
	e.paged(Literal, record, n)
	e.batch.literals = append(e.batch.literals, record.Bytes...)
}

func (e *Encoder) paged(op Op, record stream.Record, n int, numbers ...uint64) {
	at := len(e.batch.code)
	e.op(op, append([]uint64{zigzag(n - e.last - 1)}, numbers...)...)
	if record.Named {
		e.batch.code[at] |= named
	}
	if record.Bare {
		e.batch.code[at] |= bare
	}
	e.last = n
}

func (e *Encoder) op(op Op, numbers ...uint64) {
	e.batch.Counts[op]++
	e.batch.code = append(e.batch.code, byte(op))
	for _, number := range numbers {
		e.batch.code = binary.AppendUvarint(e.batch.code, number)
	}
}

func zigzag(n int) uint64 { return uint64(n<<1) ^ uint64(n>>63) }
func unzigzag(n uint64) int {
	return int(n>>1) ^ -int(n&1)
}
