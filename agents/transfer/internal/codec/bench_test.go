package codec

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

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

// BenchmarkLibraries compresses this program, in parts as long as batches, by libzstd and by Go's own
// zstd at its fastest.
func BenchmarkLibraries(b *testing.B) {
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		b.Fatal(err)
	}
	program = program[:min(len(program), 8<<20)]
	own, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
	if err != nil {
		b.Fatal(err)
	}
	ways := map[string]func(to, plain []byte) []byte{
		"klauspost": func(to, plain []byte) []byte { return own.EncodeAll(plain, to) },
	}
	for _, level := range Levels()[1:] {
		ways["libzstd/"+level.String()] = func(to, plain []byte) []byte {
			packed, err := compress(to, plain, level)
			if err != nil {
				b.Fatal(err)
			}
			return packed
		}
	}
	for name, pack := range ways {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(program)))
			var packed []byte
			left := 0
			for b.Loop() {
				left = 0
				for part := range slices.Chunk(program, 128<<10) {
					packed = pack(packed[:0], part)
					left += len(packed)
				}
			}
			b.ReportMetric(float64(left)/float64(len(program)), "ratio")
		})
	}
}
