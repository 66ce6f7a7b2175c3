package codec

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"weft/agents/transfer/internal/qemutest"
	"weft/agents/transfer/internal/stream"
)

// fixed are pages in memory, as of a disk.
type fixed [][]byte

func (f fixed) Page(n int) []byte { return f[n] }
func (f fixed) Len() int          { return len(f) }

func page(random *rand.Rand) []byte {
	p := make([]byte, stream.PageSize)
	for i := range p {
		p[i] = byte(random.Uint32())
	}
	return p
}

func disk() fixed {
	random := rand.New(rand.NewPCG(7, 7))
	var pages fixed
	for range 8 {
		pages = append(pages, page(random))
	}
	return pages
}

// records returns a stream's records of every kind: new pages, changed ones, moved ones, zeroes, and the disk's.
func records(seed uint64, blocks []stream.Block) (all []stream.Record) {
	random, reference := rand.New(rand.NewPCG(seed, 1)), disk()
	now := map[[2]int][]byte{}
	for range 400 {
		block := random.IntN(len(blocks))
		n := random.IntN(int(blocks[block].Size / stream.PageSize))
		at := [2]int{block, n}
		r := stream.Record{Kind: stream.Page, Block: block, Offset: uint64(n) * stream.PageSize, Named: random.IntN(3) == 0}
		switch old := now[at]; random.IntN(8) {
		case 0:
			r.Kind, r.Bytes = stream.Zero, nil
			now[at] = make([]byte, stream.PageSize)
		case 1:
			r.Bytes = reference[random.IntN(len(reference))]
		case 2:
			r = stream.Record{Kind: stream.Opaque, Bytes: page(random)[:random.IntN(100)+1]}
		case 3, 4:
			if old != nil {
				r.Bytes = bytes.Clone(old)
				r.Bytes[random.IntN(stream.PageSize)]++
				break
			}
			fallthrough
		case 6:
			if old != nil {
				r.Bytes = old
				break
			}
			fallthrough
		case 5:
			for _, other := range now {
				r.Bytes = other
				break
			}
		}
		if r.Kind == stream.Page {
			if r.Bytes == nil {
				r.Bytes = page(random)
			}
			now[at] = r.Bytes
		}
		all = append(all, r)
	}
	return all
}

var blocks = []stream.Block{{Name: "pc.ram", Size: 40 * stream.PageSize}, {Name: "rom", Size: 5 * stream.PageSize}}

// reference returns pages with their hashes.
func reference(pages fixed) Reference {
	r := Reference{Pages: pages}
	for _, page := range pages {
		r.Hashes = append(r.Hashes, Hash(page))
	}
	return r
}

// ends returns both ends, with mirrors of so many pages; the encoder knows disk(), the decoder `references`.
func ends(capacity int, references ...Pages) (*Encoder, *Decoder) {
	return NewEncoder(NewMemory(capacity, InMemory), reference(disk())), NewDecoder(NewMemory(capacity, InMemory), references...)
}

// packed returns a batch as it goes to the other end.
func packed(t testing.TB, batch *Batch, level Level) []byte {
	bytes, err := batch.Pack(level)
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// add adds records, and returns the stream that they are.
func add(t testing.TB, e *Encoder, records []stream.Record) (all []byte) {
	for _, r := range records {
		all, _ = r.Append(all, blocks)
		if err := e.Add(r, blocks); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestPagesThatAreKeptApartLeaveBothMirrorsAlone(t *testing.T) {
	e, d := ends(1<<10, disk())
	e.Apart = true
	want := add(t, e, records(1, blocks))
	if got, _, err := d.Decode(packed(t, e.Flush(), Fast)); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("other bytes, error %v", err)
	}
	for n := range e.memory.Len() {
		if e.memory.known(n) || d.memory.known(n) || !bytes.Equal(e.memory.Page(n), make([]byte, stream.PageSize)) {
			t.Fatalf("page %d is in a mirror", n)
		}
	}
	e.Apart = false
	want = add(t, e, records(2, blocks))
	got, counts, err := d.Decode(packed(t, e.Flush(), Fast))
	if err != nil || !bytes.Equal(got, want) || counts[Delta] == 0 {
		t.Fatalf("%d deltas, error %v", counts[Delta], err)
	}
}

func TestTheOtherEndGetsTheSameBytes(t *testing.T) {
	for seed := range uint64(20) {
		for _, capacity := range []int{1 << 10, 20, 0} {
			e, d := ends(capacity, disk())
			var counts Counts
			for i, part := range slices.Collect(slices.Chunk(records(seed, blocks), 50)) {
				e.Apart = i%3 == 1
				want := add(t, e, part)
				got, found, err := d.Decode(packed(t, e.Flush(), Levels()[i%levels]))
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("seed %d, %d pages mirrored: other bytes, error %v", seed, capacity, err)
				}
				counts.Add(found)
			}
			for _, op := range Ops() {
				if capacity == 1<<10 && counts[op] == 0 {
					t.Errorf("seed %d: no operation %v", seed, op)
				}
			}
		}
	}
}

func TestABatchThatCannotBeDecodedComesAgainAlone(t *testing.T) {
	spoilt, wrong := disk(), 0
	for i := range spoilt {
		spoilt[i] = page(rand.New(rand.NewPCG(9, uint64(i))))
	}
	for seed := range uint64(20) {
		e, d := ends(1<<10, spoilt)
		for _, part := range slices.Collect(slices.Chunk(records(seed, blocks), 50)) {
			want := add(t, e, part)
			batch := e.Flush()
			got, _, err := d.Decode(packed(t, batch, Default))
			if errors.Is(err, ErrDigest) {
				wrong++
				got, _, err = d.Decode(packed(t, batch.Alone(), Default))
			}
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("seed %d: other bytes, error %v", seed, err)
			}
		}
	}
	if wrong == 0 {
		t.Fatal("no batch was wrong")
	}
}

func TestForgottenReferencesAreNotUsed(t *testing.T) {
	e, d := ends(1 << 10)
	e.Forget()
	want := add(t, e, []stream.Record{{Kind: stream.Page, Named: true, Bytes: disk()[3]}})
	if got, _, err := d.Decode(packed(t, e.Flush(), Default)); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("other bytes, error %v", err)
	}
}

func TestAKeptMirrorIsUsed(t *testing.T) {
	e, d := ends(1<<10, disk())
	all := records(3, blocks)
	add(t, e, all)
	if _, _, err := d.Decode(packed(t, e.Flush(), Default)); err != nil {
		t.Fatal(err)
	}
	homeward := NewEncoder(restored(t, d.memory))
	back := NewDecoder(restored(t, e.memory))
	last := map[int]stream.Record{}
	for _, r := range all {
		if r.Kind == stream.Page {
			r.Named = true
			last[r.Block*100+int(r.Offset/stream.PageSize)] = r
		} else if r.Kind == stream.Zero {
			delete(last, r.Block*100+int(r.Offset/stream.PageSize))
		}
	}
	want := add(t, homeward, slices.Collect(maps.Values(last)))
	got, counts, err := back.Decode(packed(t, homeward.Flush(), Default))
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("other bytes, error %v", err)
	}
	if counts[Same] != uint64(len(last)) || counts[Block] != 0 {
		t.Fatalf("%d of %d pages are known: %v", counts[Same], len(last), counts)
	}
}

// restored returns a copy of a mirror, as from a file.
func restored(t *testing.T, kept *Memory) *Memory {
	m := NewMemory(1<<10, InMemory)
	for _, region := range kept.Regions() {
		if err := m.Restore(Region{region.Block, bytes.Clone(region.Bytes), slices.Clone(region.Known)}); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func FuzzABatchOfAnyBytesIsRefused(f *testing.F) {
	e, _ := ends(64)
	for i, part := range slices.Collect(slices.Chunk(records(1, blocks), 100)) {
		add(f, e, part)
		f.Add(packed(f, e.Flush(), Levels()[i%2]))
	}
	f.Fuzz(func(t *testing.T, batch []byte) {
		_, d := ends(64, disk())
		for range 2 {
			if out, _, err := d.Decode(batch); err == nil && len(out) > MostStream {
				t.Fatalf("%d bytes", len(out))
			}
		}
	})
}

// BenchmarkPack is the speed of each level on pages of which half compress (pace has figures from guests' memory).
func BenchmarkPack(b *testing.B) {
	guest := qemutest.NewGuest(300, 1)
	e := NewEncoder(NewMemory(0, InMemory))
	reader := stream.NewReader(bytes.NewReader(append(guest.Begin(), guest.Round(guest.All(), true)...)))
	for record, err := reader.Next(); err == nil; record, err = reader.Next() {
		if err := e.Add(record, reader.Blocks()); err != nil {
			b.Fatal(err)
		}
	}
	batch := e.Flush()
	for _, level := range Levels() {
		b.Run(level.String(), func(b *testing.B) {
			b.SetBytes(int64(batch.Len()))
			for b.Loop() {
				Free(packed(b, batch, level))
			}
		})
	}
}

func TestAFullBatchIsTakenHoweverItsPagesLie(t *testing.T) {
	const pages = 1 << 24 // 64 GiB, of which nothing is mirrored
	large := []stream.Block{{Name: "pc.ram", Size: pages * stream.PageSize}}
	d := NewDecoder(NewMemory(0, InMemory))
	e := NewEncoder(NewMemory(0, InMemory))
	for n := 0; !e.Full(); n++ { // zero pages far from each other: most bytes of operations for each byte of the stream
		far := n / 2
		if n%2 == 1 {
			far = pages - 1 - n/2
		}
		r := stream.Record{Kind: stream.Zero, Named: n == 0, Offset: uint64(far) * stream.PageSize}
		if err := e.Add(r, large); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := d.Decode(packed(t, e.Flush(), Fast)); err != nil {
		t.Fatal(err)
	}
}
