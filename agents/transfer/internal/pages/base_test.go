package pages

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weft/agents/transfer/internal/qemutest"
	"weft/agents/transfer/internal/stream"
)

func TestEachPageOfABaseIsThereOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory")
	guest := qemutest.NewGuest(held, 1)
	guest.Pages[2] = guest.Pages[1]
	all := append(guest.Begin(), guest.Round(guest.All(), true)...)
	pages, err := StoreBase(bytes.NewReader(append(all, guest.Device(1000)...)), path)
	if err != nil {
		t.Fatal(err)
	}
	reference, err := OpenReference(path, strings.Repeat("ab", 32))
	if err != nil || reference.Len() != pages {
		t.Fatalf("%d pages are stored, and %d there: %v", pages, reference.Len(), err)
	}
	defer reference.Close()
	there := map[string]int{}
	for n := range reference.Len() {
		there[string(reference.Page(n))]++
	}
	for n, page := range guest.Pages {
		if page != nil && there[string(page)] != 1 {
			t.Errorf("page %d is there %d times", n, there[string(page)])
		}
	}
	if there[string(make([]byte, stream.PageSize))] != 0 {
		t.Error("the zero page takes room")
	}
}

func TestAStreamWithoutPagesIsNoBase(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "memory")
	if _, err := StoreBase(strings.NewReader("no stream of QEMU's"), path); err == nil || !strings.Contains(err.Error(), "no page of memory") {
		t.Errorf("error %v", err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
