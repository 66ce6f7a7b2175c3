package stream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// whole returns a stream as QEMU writes it: a configuration, a command, two blocks, pages, and device state.
func whole() []byte {
	be := binary.BigEndian
	s := []byte(header)
	s = append(be.AppendUint32(append(s, configuration), 6), "pc-q35"...)
	s = append(s, command, 0, 1, 0, 0)
	s = append(be.AppendUint32(append(s, sectionStart), 2), "\x03ram\x00\x00\x00\x00\x00\x00\x00\x04"...)
	s = be.AppendUint64(s, 5*PageSize|flagMemSize)
	s = be.AppendUint64(append(s, "\x06pc.ram"...), 4*PageSize)
	s = be.AppendUint64(append(s, "\x03rom"...), PageSize)
	s = be.AppendUint64(s, flagEnd)
	s = be.AppendUint32(append(s, footer), 2)
	s = be.AppendUint32(append(s, sectionPart), 2)
	s = append(be.AppendUint64(s, 0|flagZero), "\x06pc.ram\x00"...)
	s = append(be.AppendUint64(s, PageSize|flagPage|flagContinue), bytes.Repeat([]byte{7}, PageSize)...)
	s = append(append(be.AppendUint64(s, 0|flagPage), "\x03rom"...), bytes.Repeat([]byte{9}, PageSize)...)
	s = be.AppendUint64(s, flagEnd)
	s = be.AppendUint32(append(s, footer), 2)
	s = append(s, command, 0, 11, 0, 0)
	s = be.AppendUint32(append(s, sectionEnd), 2)
	s = append(be.AppendUint64(s, 3*PageSize|flagZero), "\x06pc.ram\x00"...)
	s = be.AppendUint64(s, flagEnd)
	s = be.AppendUint32(append(s, footer), 2)
	return append(s, "\x04 device state, of which we know no length"...)
}

// split returns a stream's records, and the bytes that they give again.
func split(t testing.TB, in io.Reader) (records []Record, out []byte) {
	return all(t, NewReader(in))
}

type reader interface {
	Next() (Record, error)
	Blocks() []Block
}

func all(t testing.TB, r reader) (records []Record, out []byte) {
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			return records, out
		}
		if err != nil {
			t.Fatal(err)
		}
		if out, err = record.Append(out, r.Blocks()); err != nil {
			t.Fatal(err)
		}
		record.Bytes = bytes.Clone(record.Bytes)
		records = append(records, record)
	}
}

func TestPagesAreFoundAndTheRestPasses(t *testing.T) {
	records, out := split(t, iotest.OneByteReader(bytes.NewReader(whole())))
	if !bytes.Equal(out, whole()) {
		t.Fatal("other bytes come out")
	}
	var found []Record
	for _, record := range records {
		if record.Kind != Opaque {
			found = append(found, record)
		}
	}
	want := []Record{
		{Kind: Zero, Named: true},
		{Kind: Page, Offset: PageSize},
		{Kind: Page, Block: 1, Named: true},
		{Kind: Zero, Offset: 3 * PageSize, Named: true},
	}
	if len(found) != len(want) {
		t.Fatalf("%d pages, not %d", len(found), len(want))
	}
	for i, record := range found {
		if len(record.Bytes) != 0 && len(record.Bytes) != PageSize {
			t.Errorf("page %d has %d bytes", i, len(record.Bytes))
		}
		record.Bytes = nil
		if record.Kind != want[i].Kind || record.Block != want[i].Block || record.Offset != want[i].Offset || record.Named != want[i].Named {
			t.Errorf("record %d is %+v, not %+v", i, record, want[i])
		}
	}
}

func TestAStreamThatEndsAnywhereComesOutAsFarAsItWent(t *testing.T) {
	s := whole()
	for n := range len(s) {
		if _, out := split(t, bytes.NewReader(s[:n])); !bytes.Equal(out, s[:n]) {
			t.Fatalf("a stream of %d bytes comes out as %d other ones", n, len(out))
		}
	}
}

func TestWhatIsUnknownIsOpaqueFromThereOn(t *testing.T) {
	s := whole()
	for at := len(header); at < len(s); at += 3 {
		bad := bytes.Clone(s)
		bad[at] ^= 0xff
		if _, out := split(t, bytes.NewReader(bad)); !bytes.Equal(out, bad) {
			t.Fatalf("with byte %d changed other bytes come out", at)
		}
	}
}

func FuzzAnyBytesComeOutAgain(f *testing.F) {
	f.Add(whole())
	f.Add([]byte(header))
	f.Fuzz(func(t *testing.T, s []byte) {
		if _, out := split(t, bytes.NewReader(s)); !bytes.Equal(out, s) {
			t.Fatal("other bytes come out")
		}
	})
}
