package tree

import (
	"fmt"

	"weft/agents/transfer/internal/stream"
)

// regionPages are the pages of one block: a gigabyte.
const regionPages = 1 << 18

// places gives each file pages of its own in the mirror, the same ones in each round, so that a round is compared with
// the one before. A file that outgrows its place gets another one.
type places struct {
	of     map[string]extent
	next   uint64
	blocks []stream.Block
}

type extent struct{ first, pages uint64 }

// place returns the first page of a file's place; false if there is no room for it.
func (p *places) place(name string, pages uint64) (uint64, bool) {
	if found, known := p.of[name]; known && found.pages >= pages {
		return found.first, true
	}
	size := pages + pages/4 // room to grow
	if pages > regionPages*stream.MostBlocks || p.next+size > regionPages*stream.MostBlocks {
		return 0, false
	}
	made := extent{p.next, size}
	p.of[name] = made
	p.next += size
	return made.first, true
}

// sequence returns the places of a file's pages, one after the other; false from the first one on that has none.
func (p *places) sequence(name string, pages uint64) func() (uint64, bool) {
	next, has := p.place(name, pages)
	return func() (uint64, bool) {
		next++
		return next - 1, has
	}
}

// memory returns the places of the pages of runs, one after the other: those of their addresses.
func (p *places) memory(name string, runs []run) func() (uint64, bool) {
	var at uint64
	return func() (uint64, bool) {
		for len(runs) > 0 && at == runs[0].count {
			runs, at = runs[1:], 0
		}
		if len(runs) == 0 {
			return 0, false
		}
		address := runs[0].address + at
		at++
		first, has := p.place(fmt.Sprintf("%s %d", name, address/chunkPages), chunkPages)
		return first + address%chunkPages, has
	}
}

// page returns the block of a page and its offset there, in bytes.
func (p *places) page(n uint64) (block int, offset uint64) {
	block = int(n / regionPages)
	for len(p.blocks) <= block {
		p.blocks = append(p.blocks, stream.Block{Name: fmt.Sprintf("tree%d", len(p.blocks)), Size: regionPages * stream.PageSize})
	}
	return block, n % regionPages * stream.PageSize
}
