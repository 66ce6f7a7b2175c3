package fetch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"weft/agents/transfer/internal/images"
	"weft/agents/transfer/internal/images/layout"
)

// have reports whether a blob is there: from an earlier run, or from another image.
func (f *fetch) have(ctx context.Context, blob ocispec.Descriptor) (bool, error) {
	path := layout.Blob(f.work.path, blob.Digest)
	err := layout.VerifyFile(ctx, path, blob)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, layout.ErrWrong): // as after the host's crash
		err = os.RemoveAll(path)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err != nil {
		return false, err
	}
	for _, image := range f.others() {
		from := layout.Blob(image, blob.Digest)
		if info, err := os.Lstat(from); err != nil || !info.Mode().IsRegular() || info.Size() != blob.Size {
			continue
		}
		err := share(ctx, from, path, blob)
		if err == nil {
			return true, nil
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		f.Warn("%s is not used: %v", from, err)
	}
	return false, nil
}

// others returns the folders of all images in the directory.
func (f *fetch) others() (found []string) {
	entries, _ := os.ReadDir(f.Directory)
	for _, entry := range entries {
		if entry.IsDir() && images.IsName(entry.Name()) {
			found = append(found, filepath.Join(f.Directory, entry.Name()))
		}
	}
	return found
}

// share gives a blob of another image a second name here, or where that is not possible copies it. Its content is
// verified before it has that name.
func share(ctx context.Context, from, to string, blob ocispec.Descriptor) error {
	fresh := to + ".shared"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	err := os.Link(from, fresh)
	if err != nil {
		err = duplicate(ctx, from, fresh)
	}
	if err == nil {
		err = layout.VerifyFile(ctx, fresh, blob)
	}
	if err == nil {
		err = store(fresh)
	}
	if err == nil {
		err = os.Rename(fresh, to)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	return nil
}

func duplicate(ctx context.Context, from, to string) error {
	old, err := os.Open(from)
	if err != nil {
		return err
	}
	defer old.Close()
	made, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = layout.Hash(ctx, made, old)
	return errors.Join(err, made.Close())
}

// store writes a file's content to the disk.
func store(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// local returns the manifest if it is here already, from an earlier run or from an image of another name.
func (f *fetch) local() []byte {
	for _, folder := range append(f.others(), f.work.path) {
		path := layout.Blob(folder, f.Digest)
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() > layout.MostManifest {
			continue
		}
		if data, err := os.ReadFile(path); err == nil && digest.FromBytes(data) == f.Digest {
			return data
		}
	}
	return nil
}
