package tree

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// pagemap returns an image of CRIU: its head, and an entry for each list of a field's number and its value, by turns.
func pagemap(pages uint64, entries ...[]uint64) []byte {
	le := binary.LittleEndian
	text := le.AppendUint32(le.AppendUint32(nil, commonMagic), pagemapMagic)
	for _, fields := range append([][]uint64{{headPages, pages}}, entries...) {
		var message []byte
		for pair := range slices.Chunk(fields, 2) {
			message = protowire.AppendTag(message, protowire.Number(pair[0]), protowire.VarintType)
			message = protowire.AppendVarint(message, pair[1])
		}
		text = append(le.AppendUint32(text, uint32(len(message))), message...)
	}
	return text
}

func TestAPagemapSaysWhichPagesAFileHas(t *testing.T) {
	text := pagemap(
		7,
		[]uint64{entryAddress, 0x400000, entryOldCount, 2, entryFlags, flagPresent},
		[]uint64{entryAddress, 0x800000, entryOldCount, 9, entryFlags, 2}, // lazy
		[]uint64{entryAddress, 0x900000, entryOldCount, 9, entryOfParent, 1},
		[]uint64{entryAddress, 0xa00000, entryOldCount, 1, entryCount, 3},
	)
	pages, found, err := parsePagemap(text)
	if err != nil || pages != 7 || !slices.Equal(found, []run{{0x400, 2}, {0xa00, 3}}) {
		t.Fatal(pages, found, err)
	}
	for n := range text {
		if _, _, err := parsePagemap(text[:n]); err == nil && n < 8 {
			t.Errorf("%d bytes are taken", n)
		}
	}
	for _, wrong := range [][]byte{nil, []byte("some text that is longer"), append(text, 1), append(text, 2, 0, 0, 0, 0xff, 0xff)} {
		if _, _, err := parsePagemap(wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

func FuzzPagemap(f *testing.F) {
	f.Add(pagemap(1, []uint64{entryAddress, 4096, entryCount, 1}))
	f.Fuzz(func(_ *testing.T, text []byte) { _, _, _ = parsePagemap(text) })
}

func TestPagesOfMemoryStayWhereTheirAddressesAre(t *testing.T) {
	b := newBed(t)
	page := func(c string) string { return strings.Repeat(c, 4096) }
	b.write("memory/pages-1.img", page("a")+page("b")+page("c"))
	b.write("memory/pagemap-22.img", string(pagemap(1, []uint64{entryAddress, 0x7000, entryCount, 3})))
	sender := NewSender(bytes.NewReader(nil), b.from, []string{"memory"}, "")
	first := placesOf(t, sender, b)
	b.write("memory/pages-1.img", page("x")+page("a")+page("b")+page("c")) // one more, before the others
	b.write("memory/pagemap-22.img", string(pagemap(1, []uint64{entryAddress, 0x1000, entryCount, 1},
		[]uint64{entryAddress, 0x7000, entryCount, 3})))
	second := placesOf(t, sender, b)
	if len(first) != 3 || !slices.Equal(second[1:], first) || slices.Contains(first, second[0]) {
		t.Errorf("first %d, then %d", first, second)
	}
	b.write("memory/pagemap-22.img", "no pagemap")
	if others := placesOf(t, sender, b); len(others) != 4 {
		t.Errorf("without a pagemap: %d", others)
	}
}

// placesOf returns the places of the pages of the file of memory.
func placesOf(t *testing.T, sender *Sender, b *bed) (found []uint64) {
	t.Helper()
	path := b.in("memory/pages-1.img")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sender.maps = map[string]map[uint64]memory{} // a new round
	described, is := sender.memory(path)
	next := sender.places.sequence(filepath.Base(path), uint64(len(text)/4096))
	if is {
		next = sender.places.memory(described.name, described.runs)
	}
	for range len(text) / 4096 {
		place, has := next()
		if !has {
			t.Fatal("a page has no place")
		}
		found = append(found, place)
	}
	return found
}

func TestAMovesMemoryIsSentByItsAddresses(t *testing.T) {
	b := newBed(t)
	b.write("memory/pages-1.img", strings.Repeat("a", 8192))
	b.write("memory/pagemap-1.img", string(pagemap(1, []uint64{entryAddress, 0x7000, entryCount, 1}))) // one page too few
	time.Sleep(long)
	b.must(b.rounds([]string{both, last}))
	b.same("memory")
}
