package codec

import (
	"fmt"
	"slices"

	"weft/agents/transfer/internal/stream"
)

// Memory is a mirror of the guest: the pages of all its blocks, one block after the other, and which of them are known.
// Pages beyond its capacity are not mirrored. Source 0 of a Copy is the mirror itself.
type Memory struct {
	regions  []Region
	first    []int // the first page of each block
	total    int
	capacity int // pages
	used     int
	allocate func(bytes int) ([]byte, error)
}

// Region is one block of a mirror: its pages, as far as they are mirrored, and a bit for each one that is known.
type Region struct {
	Block stream.Block
	Bytes []byte
	Known []uint64
}

// NewMemory returns an empty mirror, which takes memory for at most `capacity` pages from `allocate`, zeroed.
func NewMemory(capacity int, allocate func(bytes int) ([]byte, error)) *Memory {
	return &Memory{capacity: capacity, allocate: allocate}
}

// InMemory allocates a mirror's pages in the process's own memory.
func InMemory(bytes int) ([]byte, error) { return make([]byte, bytes), nil }

// Restore adds a block that was kept, with its pages. It is refused if the parts do not fit each other.
func (m *Memory) Restore(region Region) error {
	pages := len(region.Bytes) / stream.PageSize
	if len(region.Bytes)%stream.PageSize != 0 || len(region.Known) != words(pages) || m.used+pages > m.capacity {
		return fmt.Errorf("block %q has %d bytes, and %d words of known pages", region.Block.Name, len(region.Bytes), len(region.Known))
	}
	if uint64(len(region.Bytes)) > region.Block.Size {
		return fmt.Errorf("block %q has more pages than its size, %d bytes", region.Block.Name, region.Block.Size)
	}
	return m.add(region)
}

// Regions returns the blocks of the mirror. They share its memory.
func (m *Memory) Regions() []Region { return m.regions }

// Len returns the number of pages, mirrored or not.
func (m *Memory) Len() int { return m.total }

// Page returns a page, whose bytes are the mirror's own; nil if it is not mirrored.
func (m *Memory) Page(n int) []byte {
	b := m.block(n)
	at := (n - m.first[b]) * stream.PageSize
	if at >= len(m.regions[b].Bytes) {
		return nil
	}
	return m.regions[b].Bytes[at : at+stream.PageSize : at+stream.PageSize]
}

// place returns the index of a block of the stream. A new one is added, also if its size has changed; `grown` says so.
func (m *Memory) place(block stream.Block) (index int, grown bool, err error) {
	for b := len(m.regions) - 1; b >= 0; b-- {
		if m.regions[b].Block == block {
			return b, false, nil
		}
	}
	return len(m.regions), true, m.grow(block)
}

func (m *Memory) grow(block stream.Block) error {
	if block.Size > mostPages*stream.PageSize {
		return fmt.Errorf("block %q has %d bytes", block.Name, block.Size)
	}
	pages := min(int(block.Size/stream.PageSize), m.capacity-m.used)
	bytes, err := m.allocate(pages * stream.PageSize)
	if err != nil {
		return fmt.Errorf("no memory for a mirror of block %q: %w", block.Name, err)
	}
	return m.add(Region{Block: block, Bytes: bytes, Known: make([]uint64, words(pages))})
}

func (m *Memory) add(region Region) error {
	pages := int(region.Block.Size / stream.PageSize)
	if region.Block.Size%stream.PageSize != 0 || pages == 0 || len(region.Block.Name) > mostName || m.total+pages > mostPages {
		return fmt.Errorf("block %q has %d bytes", region.Block.Name, region.Block.Size)
	}
	if len(m.regions) == stream.MostBlocks {
		return fmt.Errorf("more than %d blocks", stream.MostBlocks)
	}
	m.regions, m.first = append(m.regions, region), append(m.first, m.total)
	m.total += pages
	m.used += len(region.Bytes) / stream.PageSize
	return nil
}

func (m *Memory) block(n int) int {
	b, found := slices.BinarySearch(m.first, n)
	if !found {
		b--
	}
	return b
}

func (m *Memory) known(n int) bool {
	b := m.block(n)
	at := n - m.first[b]
	return at/64 < len(m.regions[b].Known) && m.regions[b].Known[at/64]&(1<<(at%64)) != 0
}

// note marks a mirrored page as known.
func (m *Memory) note(n int) {
	b := m.block(n)
	at := n - m.first[b]
	m.regions[b].Known[at/64] |= 1 << (at % 64)
}

func words(pages int) int { return (pages + 63) / 64 }
