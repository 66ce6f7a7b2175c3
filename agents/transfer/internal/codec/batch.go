package codec

import (
	"encoding/binary"
	"slices"

	"github.com/zeebo/blake3"

	"weft/agents/transfer/internal/stream"
)

// Level says how well a batch is compressed, and so at which cost.
type Level uint8

// The levels: nothing at all, and zstd's (zstdLevels).
const (
	Stored Level = iota
	Fast
	Default
	Better
	Best

	levels = iota
)

// Levels returns all levels, the cheapest first.
func Levels() []Level { return []Level{Stored, Fast, Default, Better, Best} }

func (l Level) String() string {
	return [levels]string{"stored", "fast", "default", "better", "best"}[l]
}

// Batch is a part of the stream, encoded but not yet compressed.
type Batch struct {
	Stream         []byte // as QEMU wrote it
	Counts         Counts
	Repeated       Repeated
	code, literals []byte
}

func newBatch() *Batch {
	return &Batch{Stream: streams.take(), code: operations.take(), literals: contents.take()}
}

// Free says that nobody needs the batch any more.
func (b *Batch) Free() {
	streams.free(b.Stream)
	operations.free(b.code)
	contents.free(b.literals)
}

// Repeated are the pages of a batch that the stream has had before: those that the guest still writes.
type Repeated struct{ Pages, Literals int }

// Len returns the bytes that there are to compress.
func (b *Batch) Len() int { return len(b.code) + len(b.literals) }

// Pack returns the batch as it goes to the other end: level, lengths of stream, operations and literals, the digest of
// the stream's bytes, and operations and literals. It may be called by several goroutines at once.
func (b *Batch) Pack(level Level) ([]byte, error) {
	packed := append(slices.Grow(packs.take(), 64+b.Len()), byte(level))
	for _, n := range []int{len(b.Stream), len(b.code), len(b.literals)} {
		packed = binary.AppendUvarint(packed, uint64(n))
	}
	digest := blake3.Sum256(b.Stream)
	packed = append(packed, digest[:]...)
	if level == Stored {
		return append(append(packed, b.code...), b.literals...), nil
	}
	plain := append(append(plains.take(), b.code...), b.literals...)
	defer plains.free(plain)
	return compress(packed, plain, level)
}

// Alone returns the batch without references to anything that the other end has: each page is a literal. A decoder that
// got other bytes of the batch gets the right ones of this, and its mirror is then as the encoder's was.
func (b *Batch) Alone() *Batch {
	alone := &Batch{Stream: b.Stream}
	code, literals, at := &input{bytes: b.code}, &input{bytes: b.literals}, 0
	emit := func(head byte, numbers ...int) {
		alone.Counts[Op(head&^flags)]++
		alone.code = append(alone.code, head)
		for _, n := range numbers {
			alone.code = binary.AppendUvarint(alone.code, uint64(n))
		}
	}
	for len(code.bytes) > 0 {
		head := code.take(1)[0]
		op := Op(head &^ flags)
		first := code.number(1 << 60)
		switch op {
		case Bytes:
			emit(head, first)
			alone.literals = append(alone.literals, literals.take(first)...)
			at += first
			continue
		case Block:
			emit(head, first, code.number(mostPages))
			alone.literals = append(alone.literals, literals.take(first)...)
			continue
		case Copy:
			code.number(1 << 60)
			code.number(1 << 60)
		case Delta:
			literals.take(code.number(stream.PageSize))
		case Literal:
			literals.take(stream.PageSize)
		}
		if head&bare == 0 {
			at += 8
			if head&named != 0 {
				at += 1 + int(b.Stream[at])
			}
		}
		if op == Zero {
			emit(head, first)
			if at++; head&bare != 0 {
				at += stream.PageSize - 1
			}
			continue
		}
		emit(byte(Literal)|head&flags, first)
		alone.literals = append(alone.literals, b.Stream[at:at+stream.PageSize]...)
		at += stream.PageSize
	}
	return alone
}
