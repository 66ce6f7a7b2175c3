package codec

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"weft/agents/transfer/internal/stream"
)

func TestADeltaMakesOnePageIntoTheOther(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		from := make([]byte, stream.PageSize)
		for i := range from {
			from[i] = byte(random.Uint32())
		}
		to := bytes.Clone(from)
		for range random.IntN(40) {
			at := random.IntN(len(to))
			for i := at; i < min(len(to), at+random.IntN(60)); i++ {
				to[i] = byte(random.Uint32())
			}
		}
		delta, fits := appendDelta(nil, from, to, stream.PageSize)
		if !fits {
			continue
		}
		if err := applyDelta(from, delta); err != nil || !bytes.Equal(from, to) {
			t.Fatalf("not the same page: %v", err)
		}
	}
}

func FuzzADeltaNeverLeavesThePage(f *testing.F) {
	f.Add([]byte{0, 1, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Fuzz(func(t *testing.T, delta []byte) {
		page := make([]byte, stream.PageSize, 2*stream.PageSize)
		beyond := page[stream.PageSize : 2*stream.PageSize]
		_ = applyDelta(page, delta)
		if !bytes.Equal(beyond, make([]byte, stream.PageSize)) {
			t.Fatal("bytes beyond the page have changed")
		}
	})
}
