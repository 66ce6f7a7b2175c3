package tree

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"weft/agents/transfer/internal/stream"
)

const (
	regionPages = 1 << 18 // of one block: a gigabyte
	mostPages   = regionPages * stream.MostBlocks
)

// places gives each file pages of its own in the mirror, the same ones in each round, so that a round is compared with
// the one before. A file that outgrows its place gets another one.
type places struct {
	of     map[string]extent
	next   uint64
	blocks []stream.Block
}

type extent struct{ first, pages uint64 }

// mostPlaces are the bytes of a text of places: archive/tar takes a megabyte of records.
const mostPlaces = 1 << 19

// text returns the places for parsePlaces; empty if there are too many.
func (p *places) text() string {
	plain := map[string][2]uint64{}
	for name, at := range p.of {
		plain[name] = [2]uint64{at.first, at.pages}
	}
	made, err := json.Marshal(plain)
	if err != nil {
		return ""
	}
	var out strings.Builder
	packed := base64.NewEncoder(base64.StdEncoding, &out)
	squeezed := gzip.NewWriter(packed)
	_, err = squeezed.Write(made)
	if err := errors.Join(err, squeezed.Close(), packed.Close()); err != nil || out.Len() > mostPlaces {
		return ""
	}
	return out.String()
}

// parsePlaces returns the places of a text; none if it cannot be read. The text may be the other end's, and a wrong one
// costs no more than bytes: pages are compared before they are taken as known.
func parsePlaces(text string) places {
	none := places{of: map[string]extent{}}
	squeezed, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	if err != nil {
		return none
	}
	plain := map[string][2]uint64{}
	if err := json.NewDecoder(io.LimitReader(squeezed, mostPlaces*16)).Decode(&plain); err != nil {
		return none
	}
	found := places{of: map[string]extent{}}
	for name, at := range plain {
		if at[1] > mostPages || at[0] > mostPages-at[1] {
			return none
		}
		found.of[name] = extent{at[0], at[1]}
		found.next = max(found.next, at[0]+at[1])
	}
	return found
}

// place returns the first page of a file's place; false if there is no room for it.
func (p *places) place(name string, pages uint64) (uint64, bool) {
	if found, known := p.of[name]; known && found.pages >= pages {
		return found.first, true
	}
	size := pages + pages/4 // room to grow
	if pages > mostPages || p.next+size > mostPages {
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
