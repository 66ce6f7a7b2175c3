// Package codec turns a stream of memory or of a disk into batches that say only what the other end does not have, and
// back. Both ends keep a mirror of the guest's memory or disk, and have the same reference pages: blocks of the image's disk, and of one
// saved boot of it. A batch carries a digest of the stream's bytes; the decoder gives out none of them before it agrees.
package codec

// Op says how a page is encoded.
type Op uint8

// The operations. All numbers are unsigned varints (encoding/binary).
const (
	// Bytes: length. The bytes are in the literals.
	Bytes Op = iota
	// Zero: the page is all zero.
	Zero
	// Same: the page is as in the mirror.
	Same
	// Copy: source, page. The page is as that page of the source is now.
	Copy
	// Delta: length. The literals have the words that differ from the mirror.
	Delta
	// Literal: the page is in the literals.
	Literal
	// Block: name's length, size in pages. The name is in the literals; the mirror grows.
	Block

	ops = iota
)

var opNames = [ops]string{"bytes", "zero", "same", "copy", "delta", "literal", "block"}

func (o Op) String() string { return opNames[o] }

// Ops returns all operations, in order.
func Ops() []Op { return []Op{Bytes, Zero, Same, Copy, Delta, Literal, Block} }

// Flags in an operation's byte: the stream's record names its block; it is a page without a head; neither end takes the
// page into its mirror.
const (
	named = 0x80
	bare  = 0x40
	apart = 0x20
	flags = named | bare | apart
)

// Limits of a batch. The decoder refuses more.
const (
	MostStream = 8 << 20 // bytes of the stream
	mostCode   = 1 << 20 // bytes of operations
	mostPages  = 1 << 28 // pages of a mirror: 1 TiB
	mostName   = 255     // bytes of a block's name
	digestSize = 32
)

// Pages are the pages of a source, in order. The bytes are of that memory itself, not a copy.
type Pages interface {
	Page(n int) []byte
	Len() int
}

// Counts are the operations of a batch, or of several, by kind.
type Counts [ops]uint64

// Add adds the operations of others.
func (c *Counts) Add(others Counts) {
	for op, n := range others {
		c[op] += n
	}
}
