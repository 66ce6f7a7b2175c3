package stream

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// Sections and commands of the stream (migration/savevm.h).
const (
	sectionStart      = 0x01
	sectionPart       = 0x02
	sectionEnd        = 0x03
	configuration     = 0x07
	command           = 0x08
	footer            = 0x7e
	postcopyAdvise    = 3
	header            = "QEVM\x00\x00\x00\x03"
	ram               = "ram"
	ramVersion        = 4
	mostConfiguration = 256
)

// MostBlocks is the greatest number of blocks of memory; with more, a stream is opaque.
const MostBlocks = 1024

// Reader splits a migration stream into records. At the first thing that it does not understand, and after the end of
// RAM, all the rest is opaque: device state has no lengths.
type Reader struct {
	splitter
	names map[string]int
	ram   uint32
	known bool
	last  bool // the section that is being read is the last one of RAM
	block int  // of the record before, also in another section; -1 if none was named
}

// NewReader returns a reader of a stream from its beginning.
func NewReader(in io.Reader) *Reader {
	r := &Reader{splitter: newSplitter(in), names: map[string]int{}, block: -1}
	r.state = r.begin
	return r
}

func (r *Reader) begin() (Record, error) {
	found, err := r.in.Peek(len(header))
	if err != nil {
		return Record{}, err
	}
	if string(found) != header {
		return Record{}, errUnknown
	}
	r.state = r.section
	return r.opaque(len(header))
}

// section reads what stands between the records of RAM.
func (r *Reader) section() (Record, error) {
	kind, err := r.in.Peek(1)
	if err != nil {
		return Record{}, err
	}
	switch kind[0] {
	case configuration:
		return r.configuration()
	case command:
		return r.command()
	case sectionStart:
		return r.start()
	case sectionPart, sectionEnd:
		return r.part(kind[0] == sectionEnd)
	case footer:
		if r.last {
			r.state = nil
		}
		return r.opaque(5)
	default:
		return Record{}, errUnknown
	}
}

func (r *Reader) configuration() (Record, error) {
	found, err := r.in.Peek(5)
	if err != nil {
		return Record{}, err
	}
	size := binary.BigEndian.Uint32(found[1:])
	if size > mostConfiguration {
		return Record{}, errUnknown
	}
	return r.opaque(5 + int(size))
}

func (r *Reader) command() (Record, error) {
	found, err := r.in.Peek(5)
	if err != nil {
		return Record{}, err
	}
	size := 5 + int(binary.BigEndian.Uint16(found[3:]))
	if binary.BigEndian.Uint16(found[1:]) == postcopyAdvise {
		r.state = nil // what follows has other flags, and is on its way while the guest runs there
	}
	return r.opaque(size)
}

// start reads the set-up of RAM, which announces the blocks.
func (r *Reader) start() (Record, error) {
	c := cursor{in: r.in, at: 1}
	id := c.uint32()
	name := c.name()
	instance, version, total := c.uint32(), c.uint32(), c.uint64()
	if c.err != nil {
		return Record{}, c.err
	}
	if name != ram || instance != 0 || version != ramVersion || total&flagBits != flagMemSize || r.known {
		return Record{}, errUnknown
	}
	for left := total &^ flagBits; left > 0 && c.err == nil; {
		block := Block{Name: c.name(), Size: c.uint64()}
		_, twice := r.names[block.Name]
		if block.Size == 0 || block.Size > left || block.Size&flagBits != 0 || twice || len(r.blocks) == MostBlocks {
			return Record{}, errors.Join(errUnknown, c.err)
		}
		r.names[block.Name] = len(r.blocks)
		r.blocks = append(r.blocks, block)
		left -= block.Size
	}
	end := c.uint64()
	if c.err != nil {
		return Record{}, c.err
	}
	if end != flagEnd {
		return Record{}, errUnknown
	}
	r.ram, r.known = id, true
	return r.opaque(c.at)
}

func (r *Reader) part(last bool) (Record, error) {
	found, err := r.in.Peek(5)
	if err != nil {
		return Record{}, err
	}
	if !r.known || binary.BigEndian.Uint32(found[1:]) != r.ram {
		return Record{}, errUnknown
	}
	r.state, r.last = r.page, last
	return r.opaque(5)
}

// page reads a record of RAM.
func (r *Reader) page() (Record, error) {
	c := cursor{in: r.in}
	word := c.uint64()
	if c.err != nil {
		return Record{}, c.err
	}
	if word == flagEnd {
		r.state = r.section
		return r.opaque(8)
	}
	flags := word & flagBits
	named := flags&flagContinue == 0
	if named {
		block, known := r.names[c.name()]
		if c.err != nil {
			return Record{}, c.err
		}
		if !known {
			return Record{}, errUnknown
		}
		r.block = block
	}
	record := Record{Block: r.block, Offset: word &^ flagBits, Named: named}
	if record.Block < 0 || record.Offset >= r.blocks[record.Block].Size {
		return Record{}, errUnknown
	}
	switch flags &^ flagContinue {
	case flagZero:
		record.Kind, record.Fill = Zero, c.take(1)[0]
	case flagPage:
		record.Kind, record.Bytes = Page, c.take(PageSize)
	default:
		return Record{}, errUnknown
	}
	r.done = c.at
	if c.err != nil {
		r.done = 0
	}
	return record, c.err
}

// cursor reads fields ahead of the reader, which keeps all of them until the record is whole.
type cursor struct {
	in  *bufio.Reader
	at  int
	err error
}

// take returns the next n bytes, or n zeroes after an error.
func (c *cursor) take(n int) []byte {
	if c.err == nil {
		var found []byte
		if found, c.err = c.in.Peek(c.at + n); c.err == nil {
			c.at += n
			return found[c.at-n:]
		}
		if errors.Is(c.err, bufio.ErrBufferFull) {
			c.err = errUnknown
		}
	}
	return make([]byte, n)
}

func (c *cursor) uint32() uint32 { return binary.BigEndian.Uint32(c.take(4)) }
func (c *cursor) uint64() uint64 { return binary.BigEndian.Uint64(c.take(8)) }
func (c *cursor) name() string   { return string(c.take(int(c.take(1)[0]))) }
