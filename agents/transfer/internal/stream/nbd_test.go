package stream

import (
	"bytes"
	"encoding/binary"
	"testing"
	"testing/iotest"
)

const disk = 8*PageSize + 512

func asked(magic uint32, flags, command uint16, at uint64, length int, data []byte) []byte {
	be := binary.BigEndian
	s := be.AppendUint16(be.AppendUint16(be.AppendUint32(nil, magic), flags), command)
	s = be.AppendUint64(append(s, "a cookie"...), at)
	if magic == extended {
		return append(be.AppendUint64(s, uint64(length)), data...)
	}
	return append(be.AppendUint32(s, uint32(length)), data...)
}

// written returns what a client sends that writes a disk: flags, options, and requests with the head of that magic number.
func written(magic uint32) []byte {
	be := binary.BigEndian
	payload := uint16(0)
	if magic == extended {
		payload = payloadLength
	}
	s := []byte{0, 0, 0, 3}
	s = be.AppendUint32(be.AppendUint32(append(s, option...), 8), 0)
	s = append(be.AppendUint32(be.AppendUint32(append(s, option...), 7), 9), "the disk\x00"...)
	two := append(bytes.Repeat([]byte{7}, PageSize), make([]byte, PageSize)...)
	s = append(s, asked(magic, 0, write, 2*PageSize, len(two), two)...)
	s = append(s, asked(magic, 0, 0, 0, PageSize, nil)...)                                        // reads
	s = append(s, asked(magic, 0, 6, 0, 4*PageSize, nil)...)                                      // writes zeroes
	s = append(s, asked(magic, payload, write, PageSize-512, len(two), two)...)                   // across pages
	s = append(s, asked(magic, payload, write, 8*PageSize, 512, bytes.Repeat([]byte{8}, 512))...) // at the disk's end
	if magic == extended {
		s = append(s, asked(magic, payload, 7, 0, 12, []byte("block status"))...)
	}
	s = append(s, asked(magic, payload, write, 5*PageSize, 0, nil)...)
	s = append(s, asked(magic, payload, write, 6*PageSize, PageSize, bytes.Repeat([]byte{9}, PageSize))...)
	return append(s, asked(magic, 0, 2, 0, 0, nil)...)
}

func TestThePagesThatAClientWritesAreFound(t *testing.T) {
	for _, magic := range []uint32{request, extended} {
		s := written(magic)
		records, out := all(t, NewNBDReader(iotest.OneByteReader(bytes.NewReader(s)), disk))
		if !bytes.Equal(out, s) {
			t.Fatalf("%#x: other bytes come out", magic)
		}
		want := []Record{
			{Kind: Page, Offset: 2 * PageSize},
			{Kind: Zero, Offset: 3 * PageSize},
			{Kind: Page, Offset: PageSize},
			{Kind: Page, Offset: 6 * PageSize},
		}
		var found []Record
		for _, record := range records {
			if record.Kind != Opaque {
				found = append(found, record)
			}
		}
		if len(found) != len(want) {
			t.Fatalf("%#x: %d pages, not %d", magic, len(found), len(want))
		}
		for i, record := range found {
			if record.Kind != want[i].Kind || record.Offset != want[i].Offset || !record.Bare || record.Named {
				t.Errorf("%#x: record %d is %+v, not %+v", magic, i, record, want[i])
			}
		}
	}
}

func TestARequestThatIsCutOrUnknownComesOutAsItCame(t *testing.T) {
	for _, magic := range []uint32{request, extended} {
		s := written(magic)
		for n := 0; n < len(s); n += 7 {
			if _, out := all(t, NewNBDReader(bytes.NewReader(s[:n]), disk)); !bytes.Equal(out, s[:n]) {
				t.Fatalf("a connection of %d bytes comes out as %d other ones", n, len(out))
			}
			bad := bytes.Clone(s)
			bad[n] ^= 0xff
			if _, out := all(t, NewNBDReader(bytes.NewReader(bad), disk)); !bytes.Equal(out, bad) {
				t.Fatalf("with byte %d changed other bytes come out", n)
			}
		}
	}
}

func FuzzAnyRequestsComeOutAgain(f *testing.F) {
	f.Add(written(request))
	f.Add(written(extended))
	f.Fuzz(func(t *testing.T, s []byte) {
		if _, out := all(t, NewNBDReader(bytes.NewReader(s), disk)); !bytes.Equal(out, s) {
			t.Fatal("other bytes come out")
		}
	})
}
