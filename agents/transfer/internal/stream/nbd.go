package stream

import (
	"bytes"
	"encoding/binary"
	"io"
)

// The messages of an NBD client (doc/proto.md of the NetworkBlockDevice project): its flags, options until the server agrees
// with one, and then requests, of which writes carry data. Option and request tell themselves apart by their first bytes.
const (
	clientFlags   = 4 // bytes
	option        = "IHAVEOPT"
	optionHead    = 16
	mostOption    = 1 << 15
	request       = 0x25609513
	requestHead   = 28
	extended      = 0x21e41c71
	extendedHead  = 32
	write         = 1
	payloadLength = 1 << 5 // flag of a request with extended head: data follows
	diskBlock     = "disk"
)

var zeroes [PageSize]byte

// NBDReader splits what an NBD client sends that writes a disk. The pages of the disk that it writes as a whole are
// pages without a head (Record.Bare); all else is opaque.
type NBDReader struct {
	splitter
	at   uint64 // the place on the disk of the data that comes next
	left uint64 // bytes of it
}

// NewNBDReader returns a reader of a connection from its beginning. The disk has so many bytes; a part of a page at its
// end goes as it is.
func NewNBDReader(in io.Reader, disk uint64) *NBDReader {
	r := &NBDReader{splitter: newSplitter(in)}
	r.blocks = []Block{{Name: diskBlock, Size: disk &^ flagBits}}
	r.state = r.flags
	return r
}

func (r *NBDReader) flags() (Record, error) {
	r.state = r.message
	return r.opaque(clientFlags)
}

// message reads an option, or the head of a request.
func (r *NBDReader) message() (Record, error) {
	found, err := r.in.Peek(len(option))
	if err != nil {
		return Record{}, err
	}
	if string(found) == option {
		return r.option()
	}
	switch binary.BigEndian.Uint32(found) {
	case request:
		return r.request(requestHead)
	case extended:
		return r.request(extendedHead)
	default:
		return Record{}, errUnknown
	}
}

func (r *NBDReader) option() (Record, error) {
	head, err := r.in.Peek(optionHead)
	if err != nil {
		return Record{}, err
	}
	size := binary.BigEndian.Uint32(head[12:])
	if size > mostOption {
		return Record{}, errUnknown
	}
	return r.opaque(optionHead + int(size))
}

func (r *NBDReader) request(size int) (Record, error) {
	head, err := r.in.Peek(size)
	if err != nil {
		return Record{}, err
	}
	be := binary.BigEndian
	flags, command, at, length := be.Uint16(head[4:]), be.Uint16(head[6:]), be.Uint64(head[16:]), uint64(be.Uint32(head[24:]))
	data := command == write
	if size == extendedHead {
		length = be.Uint64(head[24:])
		data = data || flags&payloadLength != 0 // QEMU 10 does not set it for writes
	}
	if data {
		if command != write { // its data is no disk's
			at = r.blocks[0].Size
		}
		if at+length < at {
			return Record{}, errUnknown
		}
		r.at, r.left, r.state = at, length, r.data
	}
	return r.opaque(size)
}

// data reads the next page of a write, or less where a page is not whole.
func (r *NBDReader) data() (Record, error) {
	if r.left == 0 {
		r.state = r.message
		return r.message()
	}
	n := min(PageSize-r.at%PageSize, r.left)
	record, err := r.opaque(int(n))
	if err != nil {
		return Record{}, err
	}
	if n == PageSize && r.at < r.blocks[0].Size {
		record.Kind, record.Offset, record.Bare = Page, r.at, true
		if bytes.Equal(record.Bytes, zeroes[:]) {
			record.Kind, record.Bytes = Zero, nil
		}
	}
	r.at += n
	r.left -= n
	return record, nil
}
