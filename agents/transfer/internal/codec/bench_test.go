package codec

import (
	"bytes"
	"testing"

	"weft/agents/transfer/internal/qemutest"
	"weft/agents/transfer/internal/stream"
)

// BenchmarkStream encodes, compresses and decodes a stream on one processor: all of a guest's memory, and four rounds of
// what it has written.
func BenchmarkStream(b *testing.B) {
	guest := qemutest.NewGuest(16384, 1)
	sent := append(guest.Begin(), guest.Round(guest.All(), false)...)
	for range 4 {
		sent = append(sent, guest.Round(guest.Write(4000), false)...)
	}
	b.SetBytes(int64(len(sent)))
	b.ReportAllocs()
	for b.Loop() {
		e := NewEncoder(NewMemory(len(guest.Pages), InMemory))
		d := NewDecoder(NewMemory(len(guest.Pages), InMemory))
		reader := stream.NewReader(bytes.NewReader(sent))
		for record, err := reader.Next(); err == nil; record, err = reader.Next() {
			if err := e.Add(record, reader.Blocks()); err != nil {
				b.Fatal(err)
			}
			if !e.Full() && e.Literals() < 128<<10 {
				continue
			}
			batch := e.Flush()
			bytes := packed(b, batch, Fast)
			if _, _, err := d.Decode(bytes); err != nil {
				b.Fatal(err)
			}
			batch.Free()
			Free(bytes)
		}
	}
}
