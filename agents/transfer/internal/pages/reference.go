package pages

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"weft/agents/transfer/internal/codec"
	"weft/agents/transfer/internal/stream"
	"weft/routeserver/durable"
)

// Reference is a file that both ends have, such as an image's disk: the pages that it consists of, without its last
// bytes if they are no whole page.
type Reference struct {
	// Digest names the contents; the agents compare it.
	Digest string
	bytes  []byte
}

// OpenReference maps a file whose digest the caller knows.
func OpenReference(path, digest string) (*Reference, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() // the mapping stays
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	r := &Reference{Digest: digest}
	if size := int(info.Size()) &^ (stream.PageSize - 1); size > 0 {
		if r.bytes, err = unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Page returns a page.
func (r *Reference) Page(n int) []byte {
	return r.bytes[n*stream.PageSize : (n+1)*stream.PageSize : (n+1)*stream.PageSize]
}

// Len returns the number of pages.
func (r *Reference) Len() int { return len(r.bytes) / stream.PageSize }

// Close unmaps the file.
func (r *Reference) Close() error {
	if r.bytes == nil {
		return nil
	}
	return unix.Munmap(r.bytes)
}

// AtOnce is the size in bytes up to which a file's pages are hashed while a machine waits to move.
const AtOnce = 256 << 20

// Hashes returns the hash of each page (codec.Hash), as Hash has kept them in a folder. Those of a small file are
// computed, if nobody has; nil for another one, so that none of its pages is looked for.
func (r *Reference) Hashes(folder string) []uint64 {
	if found, err := os.ReadFile(r.kept(folder)); folder != "" && err == nil && len(found) == 8*r.Len() {
		hashes := make([]uint64, r.Len())
		for n := range hashes {
			hashes[n] = binary.LittleEndian.Uint64(found[8*n:])
		}
		return hashes
	}
	if len(r.bytes) > AtOnce {
		return nil
	}
	hashes, _ := r.Hash(folder) // what cannot be kept is computed again
	return hashes
}

// Hash computes the hashes, and keeps them in a folder under the reference's digest: a file of many gigabytes is read
// once. Without a folder they are only computed.
func (r *Reference) Hash(folder string) ([]uint64, error) {
	hashes, text := make([]uint64, r.Len()), make([]byte, 0, 8*r.Len())
	for n := range hashes {
		hashes[n] = codec.Hash(r.Page(n))
		text = binary.LittleEndian.AppendUint64(text, hashes[n])
	}
	if folder == "" {
		return hashes, nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return hashes, err
	}
	return hashes, durable.Replace(r.kept(folder), text, 0o600)
}

// Hashed reports whether the hashes are kept in a folder.
func (r *Reference) Hashed(folder string) bool {
	info, err := os.Stat(r.kept(folder))
	return err == nil && info.Size() == int64(8*r.Len())
}

func (r *Reference) kept(folder string) string {
	return filepath.Join(folder, filepath.Base(r.Digest)+".hashes")
}

// Chosen returns the references with those digests, in that order.
func Chosen(all []*Reference, digests []string) []*Reference {
	var chosen []*Reference
	for _, digest := range digests {
		if n := slices.IndexFunc(all, func(r *Reference) bool { return r.Digest == digest }); n >= 0 {
			chosen = append(chosen, all[n])
		}
	}
	return chosen
}
