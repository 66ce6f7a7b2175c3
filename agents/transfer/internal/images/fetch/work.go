package fetch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"

	"weft/agents/transfer/internal/images/layout"
	"weft/routeserver/durable"
)

// parts is the folder with incomplete blobs, below the work's.
const parts = "parts"

// work is the folder of an image that comes. It is locked until Close, under whatever name.
type work struct {
	path string
	lock *os.File
}

// coming returns the path of an image's work. No image can have its name.
func coming(directory, image string) string { return filepath.Join(directory, "."+image+".coming") }

// begin makes the work of an image, or takes up the one that an ended run has left.
func begin(directory, image string) (*work, error) {
	w := &work{path: coming(directory, image)}
	for range 10 {
		if err := os.Mkdir(w.path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		lock, err := layout.Lock(w.path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // it was just put in place
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return nil, fmt.Errorf("another fetch of %s runs", image)
		case err != nil:
			return nil, err
		}
		if w.lock = lock; w.current() {
			return w, nil
		}
		_ = lock.Close()
	}
	return nil, fmt.Errorf("other fetches of %s run", image)
}

// current reports whether the locked folder still has its name: another run may have put it in place.
func (w *work) current() bool {
	locked, err := w.lock.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(w.path)
	return err == nil && os.SameFile(locked, named)
}

// Close releases the lock.
func (w *work) Close() { _ = w.lock.Close() }

// discard removes the work of an image that needs none, such as what an interrupted replacement has left, unless another
// run works there.
func discard(directory, image string) {
	if _, err := os.Lstat(coming(directory, image)); err != nil {
		return
	}
	if w, err := begin(directory, image); err == nil {
		_ = os.RemoveAll(w.path)
		w.Close()
	}
}

// keep removes all but the blobs of a manifest and their parts, and makes the folders for both.
func (w *work) keep(m *layout.Manifest) error {
	wanted := map[string]bool{m.Descriptor.Digest.Encoded(): true}
	for _, blob := range m.Blobs {
		wanted[blob.Digest.Encoded()] = true
	}
	blobs := filepath.Join(w.path, layout.Blobs)
	return errors.Join(
		prune(w.path, map[string]bool{"blobs": true, parts: true}), os.MkdirAll(blobs, 0o755), os.MkdirAll(filepath.Join(w.path, parts), 0o755),
		prune(filepath.Join(w.path, "blobs"), map[string]bool{"sha256": true}), prune(blobs, wanted), prune(filepath.Join(w.path, parts), wanted),
		durable.Replace(layout.Blob(w.path, m.Descriptor.Digest), m.Data, 0o644),
	)
}

// prune removes the entries of a folder whose names are not wanted.
func prune(folder string, wanted map[string]bool) error {
	entries, err := os.ReadDir(folder)
	for _, entry := range entries {
		if !wanted[entry.Name()] {
			err = errors.Join(err, os.RemoveAll(filepath.Join(folder, entry.Name())))
		}
	}
	return err
}

// begun returns how many bytes of a blob an ended run has left.
func (w *work) begun(blob ocispec.Descriptor) int64 {
	info, err := os.Lstat(w.part(blob))
	if err != nil || info.Size() > blob.Size {
		return 0
	}
	return info.Size()
}

func (w *work) part(blob ocispec.Descriptor) string {
	return filepath.Join(w.path, parts, blob.Digest.Encoded())
}

// finish makes an image of the work, all blobs of which are there.
func (w *work) finish(m *layout.Manifest) error {
	if err := os.RemoveAll(filepath.Join(w.path, parts)); err != nil {
		return err
	}
	return layout.Finish(w.path, m)
}
