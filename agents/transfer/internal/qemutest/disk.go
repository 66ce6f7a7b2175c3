package qemutest

import (
	"encoding/binary"

	"weft/agents/transfer/internal/stream"
)

const (
	requestMagic = 0x25609513
	writes       = 1
	flushes      = 3
	most         = 16 // pages of a request, as QEMU's mirror copies a megabyte at once at most
)

// Connect returns what an NBD client sends to get at a disk: its flags, and the option that names the export.
func (g *Guest) Connect() []byte {
	be := binary.BigEndian
	s := []byte("\x00\x00\x00\x03IHAVEOPT")
	return append(be.AppendUint32(be.AppendUint32(s, 7), 10), "\x00\x00\x00\x04disk\x00\x00"...)
}

// Store returns requests that write those of the guest's pages to a disk, and a flush.
func (g *Guest) Store(pages []int) (s []byte) {
	for len(pages) > 0 {
		n := 1
		for n < min(len(pages), most) && pages[n] == pages[n-1]+1 {
			n++
		}
		s = append(s, request(writes, pages[0], n)...)
		for _, page := range pages[:n] {
			s = append(s, append(g.Pages[page], make([]byte, stream.PageSize-len(g.Pages[page]))...)...)
		}
		pages = pages[n:]
	}
	return append(s, request(flushes, 0, 0)...)
}

func request(command uint16, page, pages int) []byte {
	be := binary.BigEndian
	s := be.AppendUint16(be.AppendUint16(be.AppendUint32(nil, requestMagic), 0), command)
	s = be.AppendUint64(append(s, "a cookie"...), uint64(page)*stream.PageSize)
	return be.AppendUint32(s, uint32(pages)*stream.PageSize)
}
