// Package stream reads and writes what an unmodified QEMU sends: its migration stream (docs/devel/migration in QEMU's
// source), and its writes to the disk of another QEMU (NBD). Pages come one by one, and everything else as it was.
package stream

import (
	"encoding/binary"
	"fmt"
)

// PageSize is the size of a page in bytes (x86-64).
const PageSize = 4096

// Kind says what a record is.
type Kind uint8

// The kinds of records. Opaque bytes are passed on unchanged.
const (
	Opaque Kind = iota
	Page
	Zero
)

// Flags of a RAM record, in the low bits of its address (migration/ram.c).
const (
	flagZero     = 0x02
	flagMemSize  = 0x04
	flagPage     = 0x08
	flagEnd      = 0x10
	flagContinue = 0x20
	flagBits     = PageSize - 1
)

// Block is a block of guest memory, such as pc.ram, or a disk: its name, and its size in bytes.
type Block struct {
	Name string
	Size uint64
}

// Record is one piece of the stream. Appended to each other, records give exactly the bytes that were read.
type Record struct {
	Kind Kind
	// Bytes are an opaque record's bytes, or a page's content. They are valid until the next call of Next.
	Bytes []byte
	// Block is the index of the page's block among Reader.Blocks, and Offset its place there in bytes.
	Block  int
	Offset uint64
	// Named records carry the block's name; others are in the block of the record before.
	Named bool
	// Bare pages have no head: what came before has said where they are.
	Bare bool
	// Fill is the byte of which all of a Zero record's page consists; QEMU sends 0 alone.
	Fill byte
}

// Append appends a record as QEMU writes it. The blocks are those of the stream that the record is from.
func (r Record) Append(to []byte, blocks []Block) ([]byte, error) {
	if r.Kind == Opaque {
		return append(to, r.Bytes...), nil
	}
	if r.Block < 0 || r.Block >= len(blocks) || r.Offset&flagBits != 0 || r.Offset >= blocks[r.Block].Size {
		return to, fmt.Errorf("a page of block %d at %#x, where no memory is", r.Block, r.Offset)
	}
	if r.Bare && r.Kind == Zero {
		return append(to, zeroes[:]...), nil
	}
	if r.Kind == Page && len(r.Bytes) != PageSize {
		return to, fmt.Errorf("a page of %d bytes", len(r.Bytes))
	}
	if r.Bare {
		return append(to, r.Bytes...), nil
	}
	word := r.Offset | flagPage
	if r.Kind == Zero {
		word = r.Offset | flagZero
	}
	if !r.Named {
		word |= flagContinue
	}
	to = binary.BigEndian.AppendUint64(to, word)
	if r.Named {
		name := blocks[r.Block].Name
		to = append(append(to, byte(len(name))), name...)
	}
	if r.Kind == Zero {
		return append(to, r.Fill), nil
	}
	return append(to, r.Bytes...), nil
}
