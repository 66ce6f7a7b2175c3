// Package qemutest makes, for tests, migration streams as QEMU writes them.
package qemutest

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"

	"weft/agents/transfer/internal/stream"
)

// Guest is a machine with one block of memory, pc.ram.
type Guest struct {
	Pages  [][]byte // nil: zero
	random *rand.Rand
	named  bool // QEMU names a block only when it is another than that of the page before
}

// NewGuest returns a guest of so many pages. A third of them are zero, a third is text that compresses, a third random.
func NewGuest(pages int, seed uint64) *Guest {
	g := &Guest{Pages: make([][]byte, pages), random: rand.New(rand.NewPCG(seed, 1))}
	for n := range g.Pages {
		if n%3 > 0 {
			g.Pages[n] = g.page(n%3 == 1)
		}
	}
	return g
}

func (g *Guest) page(compressible bool) []byte {
	page := make([]byte, stream.PageSize)
	for at := 0; at < len(page); at += 8 {
		word := g.random.Uint64()
		if compressible {
			word %= 64
		}
		binary.LittleEndian.PutUint64(page[at:], word)
	}
	return page
}

// Write has the guest write to so many pages: to some a few bytes, to others all of them. It returns which ones.
func (g *Guest) Write(count int) (written []int) {
	for range count {
		n := g.random.IntN(len(g.Pages))
		if g.Pages[n] == nil || g.random.IntN(2) == 0 {
			g.Pages[n] = g.page(false)
		} else {
			g.Pages[n] = bytes.Clone(g.Pages[n])
			g.Pages[n][g.random.IntN(stream.PageSize)]++
		}
		written = append(written, n)
	}
	return written
}

// All returns the numbers of all pages.
func (g *Guest) All() []int {
	all := make([]int, len(g.Pages))
	for n := range all {
		all[n] = n
	}
	return all
}

const id = 3

// Begin returns the stream's beginning: its header, a command that opens the return path, and the set-up of RAM.
func (g *Guest) Begin() []byte {
	be := binary.BigEndian
	g.named = false
	s := []byte("QEVM\x00\x00\x00\x03\x07\x00\x00\x00\x06pc-q35")
	s = append(s, 0x08, 0, 1, 0, 0)
	s = append(be.AppendUint32(append(s, 0x01), id), "\x03ram\x00\x00\x00\x00\x00\x00\x00\x04"...)
	size := uint64(len(g.Pages)) * stream.PageSize
	s = be.AppendUint64(s, size|0x04)
	s = be.AppendUint64(append(s, "\x06pc.ram"...), size)
	s = be.AppendUint64(s, 0x10)
	return be.AppendUint32(append(s, 0x7e), id)
}

// Round returns a section with those pages; the last one ends RAM.
func (g *Guest) Round(pages []int, last bool) []byte {
	be := binary.BigEndian
	kind := byte(0x02)
	if last {
		kind = 0x03
	}
	s := be.AppendUint32([]byte{kind}, id)
	for _, n := range pages {
		record := stream.Record{Kind: stream.Page, Offset: uint64(n) * stream.PageSize, Named: !g.named, Bytes: g.Pages[n]}
		if g.named = true; g.Pages[n] == nil {
			record.Kind = stream.Zero
		}
		var err error
		if s, err = record.Append(s, []stream.Block{{Name: "pc.ram", Size: uint64(len(g.Pages)) * stream.PageSize}}); err != nil {
			panic(err)
		}
	}
	return be.AppendUint32(append(be.AppendUint64(s, 0x10), 0x7e), id)
}

// Device returns so many bytes of device state.
func (g *Guest) Device(size int) []byte {
	s := []byte{0x04}
	for range size {
		s = append(s, byte(g.random.Uint32()))
	}
	return s
}
