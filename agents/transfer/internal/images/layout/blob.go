package layout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"
)

// Blobs is the folder with the blobs, below an image's own.
const Blobs = "blobs/sha256"

// ErrWrong means that content has another digest or size than it should.
var ErrWrong = errors.New("its content is not that of its digest")

// Blob returns the path of a blob below an image's folder.
func Blob(folder string, of digest.Digest) string { return filepath.Join(folder, Blobs, of.Encoded()) }

// Hash writes what a reader has to a hash, or to several writers with one, until its end or the context's.
func Hash(ctx context.Context, to io.Writer, from io.Reader) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{to}, &reader{ctx, from}, make([]byte, 1<<18))
}

// Verify reads content to its end. It returns ErrWrong if that is not what a descriptor says.
func Verify(ctx context.Context, content io.Reader, want ocispec.Descriptor) error {
	verifier := want.Digest.Verifier()
	n, err := Hash(ctx, verifier, content)
	if err != nil {
		return err
	}
	if n != want.Size || !verifier.Verified() {
		return ErrWrong
	}
	return nil
}

// VerifyFile verifies the content of a regular file.
func VerifyFile(ctx context.Context, path string, want ocispec.Descriptor) error {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() != want.Size {
		return errors.Join(err, ErrWrong)
	}
	return Verify(ctx, file, want)
}

// OpenRegular opens a regular file below a root; at a pipe it does not wait.
func OpenRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// reader ends with its context.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
