package pages

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weft/agents/transfer/internal/codec"
	"weft/agents/transfer/internal/qemutest"
	"weft/agents/transfer/internal/stream"
)

const held = 100 // pages of the mirrors here

// filled returns a mirror that a stream has filled.
func filled(t *testing.T, path string, seed uint64) (*Mirror, *codec.Memory) {
	t.Helper()
	mirror := open(t, path)
	memory, err := mirror.Memory(1000, false)
	if err != nil {
		t.Fatal(err)
	}
	guest, encoder := qemutest.NewGuest(held, seed), codec.NewEncoder(memory)
	reader := stream.NewReader(bytes.NewReader(append(guest.Begin(), guest.Round(guest.All(), true)...)))
	for record, err := reader.Next(); err == nil; record, err = reader.Next() {
		if err := encoder.Add(record, reader.Blocks()); err != nil {
			t.Fatal(err)
		}
	}
	return mirror, memory
}

func open(t *testing.T, path string) *Mirror {
	t.Helper()
	mirror, err := OpenMirror(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mirror.Close() })
	return mirror
}

func keep(t *testing.T, path string, seed uint64) string {
	t.Helper()
	mirror, memory := filled(t, path, seed)
	if err := mirror.Keep(memory); err != nil {
		t.Fatal(err)
	}
	digest, count := mirror.Kept()
	if digest == "" || count != held {
		t.Fatal("nothing is kept")
	}
	return digest
}

func TestAMirrorIsKept(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "mirror")
	first := keep(t, path, 1)
	if other := keep(t, filepath.Join(folder, "other"), 1); other != first {
		t.Error("the same pages have another digest")
	}
	if other := keep(t, filepath.Join(folder, "third"), 2); other == first {
		t.Error("other pages have the same digest")
	}
	for _, name := range []string{"mirror", "mirror.kept"} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: others may read a guest's memory: %v, %v", name, info.Mode(), err)
		}
	}
	again := open(t, path)
	memory, err := again.Memory(1000, true)
	if err != nil {
		t.Fatal(err)
	}
	guest := qemutest.NewGuest(held, 1)
	for n, page := range guest.Pages {
		if page != nil && !bytes.Equal(memory.Page(n), page) {
			t.Fatalf("page %d is another", n)
		}
	}
	if kept, _ := again.Kept(); kept != "" {
		t.Error("a mirror that is in use counts as kept")
	}
}

func TestAMirrorThatIsNotWholeIsEmpty(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mirror")
	keep(t, path, 1)
	text, err := os.ReadFile(path + ".kept")
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func() error{
		"cut file": func() error { return os.Truncate(path, held*stream.PageSize/2) },
		"no JSON":  func() error { return os.WriteFile(path+".kept", text[:len(text)/2], 0o600) },
		"another format": func() error {
			return os.WriteFile(path+".kept", bytes.Replace(text, []byte(`"format":2`), []byte(`"format":1`), 1), 0o600)
		},
		"negative size": func() error {
			return os.WriteFile(path+".kept", bytes.Replace(text, []byte(`"bytes":`), []byte(`"bytes":-`), 1), 0o600)
		},
		"fewer known pages than there are": func() error {
			return os.WriteFile(path+".kept", bytes.Replace(text, []byte(`"known":"`), []byte(`"known":"AAAAAAAAAAA=","x":"`), 1), 0o600)
		},
		"no such file": func() error { return os.Remove(path + ".kept") },
	} {
		keep(t, path, 1)
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		mirror := open(t, path)
		if kept, _ := mirror.Kept(); kept != "" {
			t.Errorf("%s: it is used", name)
		}
		memory, err := mirror.Memory(1000, false)
		if err != nil || memory.Len() != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAMirrorTakesNoMoreThanItsCapacity(t *testing.T) {
	mirror := open(t, filepath.Join(t.TempDir(), "mirror"))
	memory, err := mirror.Memory(held/2, false)
	if err != nil {
		t.Fatal(err)
	}
	guest, encoder := qemutest.NewGuest(held, 1), codec.NewEncoder(memory)
	reader := stream.NewReader(bytes.NewReader(guest.Begin()))
	for record, err := reader.Next(); err == nil; record, err = reader.Next() {
		if err := encoder.Add(record, reader.Blocks()); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := mirror.file.Stat(); err != nil || info.Size() != held/2*stream.PageSize {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
}

func TestHashesAreKept(t *testing.T) {
	folder := t.TempDir()
	path, hashes := filepath.Join(folder, "disk"), filepath.Join(folder, "hashes")
	if err := os.WriteFile(path, append(bytes.Repeat([]byte("page"), 2*stream.PageSize), "and a part of one"...), 0o600); err != nil {
		t.Fatal(err)
	}
	digest := strings.Repeat("ab", 32)
	reference, err := OpenReference(path, digest)
	if err != nil {
		t.Fatal(err)
	}
	defer reference.Close()
	want := reference.Hashes("")
	if len(want) != 8 || reference.Len() != 8 {
		t.Fatalf("%d hashes of %d pages", len(want), reference.Len())
	}
	stored := filepath.Join(hashes, digest+".hashes")
	for range 2 {
		if got := reference.Hashes(hashes); !slices.Equal(got, want) {
			t.Fatal("other hashes")
		}
	}
	if err := os.Truncate(stored, 9); err != nil { // a crash before a release that wrote it whole
		t.Fatal(err)
	}
	if got := reference.Hashes(hashes); !slices.Equal(got, want) {
		t.Fatal("other hashes of a file that is not whole")
	}
}

func TestALargeFileIsNotHashedWhileAMachineWaits(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "disk")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, AtOnce+stream.PageSize)); err != nil {
		t.Fatal(err)
	}
	reference, err := OpenReference(path, strings.Repeat("ab", 32))
	if err != nil {
		t.Fatal(err)
	}
	defer reference.Close()
	if reference.Hashes(folder) != nil || reference.Hashed(folder) {
		t.Fatal("it is hashed")
	}
	if _, err := reference.Hash(folder); err != nil || !reference.Hashed(folder) || len(reference.Hashes(folder)) != reference.Len() {
		t.Fatalf("its hashes are not found: %v", err)
	}
}

func TestAnEmptyReferenceHasNoPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	reference, err := OpenReference(path, "digest")
	if err != nil || reference.Len() != 0 || len(reference.Hashes("")) != 0 || reference.Close() != nil {
		t.Errorf("error %v", err)
	}
}
