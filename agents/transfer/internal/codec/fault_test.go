package codec

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"weft/agents/transfer/internal/stream"
)

// lacking maps a file that has fewer bytes than the mapping: the kernel answers as it does when a disk is full.
func lacking(t *testing.T) func(int) ([]byte, error) {
	t.Helper()
	return func(bytes int) ([]byte, error) {
		file, err := os.Create(filepath.Join(t.TempDir(), "mirror"))
		if err != nil {
			return nil, err
		}
		defer file.Close()
		mapped, err := unix.Mmap(int(file.Fd()), 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			t.Cleanup(func() { _ = unix.Munmap(mapped) })
		}
		return mapped, err
	}
}

func TestADiskThatIsFullEndsTheSessionAndNotTheProcess(t *testing.T) {
	block := stream.Block{Name: "ram", Size: 4 * stream.PageSize}
	page := make([]byte, stream.PageSize)
	page[7] = 7
	record := stream.Record{Kind: stream.Page, Bytes: page}
	full := NewEncoder(NewMemory(4, lacking(t)))
	if err := full.Add(record, []stream.Block{block}); !errors.Is(err, ErrMirror) {
		t.Errorf("the encoder: %v", err)
	}
	encoder := NewEncoder(NewMemory(4, InMemory))
	if err := encoder.Add(record, []stream.Block{block}); err != nil {
		t.Fatal(err)
	}
	packed, err := encoder.Flush().Pack(Stored)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := NewDecoder(NewMemory(4, lacking(t))).Decode(packed); !errors.Is(err, ErrMirror) {
		t.Errorf("the decoder: %v", err)
	}
}

func TestAnyOtherPanicGoesOn(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("it was kept")
		}
	}()
	var err error
	defer faults(&err)()
	panic("a defect")
}
