package fetch

import (
	"context"
	"crypto/sha256"
	"hash"
	"io"
	"os"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"

	"weft/agents/transfer/internal/images/layout"
)

// earlier stands for the sources of an earlier run.
const earlier = ""

// part is the beginning of a blob.
type part struct {
	blob ocispec.Descriptor
	file *os.File
	hash hash.Hash // of what is there
	at   int64
	from []string // the sources of what is there
}

// local is a failure of this host, whatever the source.
type local struct{ error }

func (l *local) Unwrap() error { return l.error }

func here(err error) error {
	if err == nil {
		return nil
	}
	return &local{err}
}

// openPart opens the part of a blob, and hashes what an earlier run has left.
func openPart(ctx context.Context, w *work, blob ocispec.Descriptor) (*part, error) {
	file, err := os.OpenFile(w.part(blob), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, err
	}
	p := &part{blob: blob, file: file, hash: sha256.New()}
	p.at, err = layout.Hash(ctx, p.hash, file)
	if p.at > 0 {
		p.from = []string{earlier}
	}
	if err == nil && p.at > blob.Size {
		err = p.restart()
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close closes the file, and leaves its content for the next run.
func (p *part) Close() { _ = p.file.Close() }

// restart empties the part.
func (p *part) restart() error {
	p.hash.Reset()
	p.at, p.from = 0, nil
	if err := p.file.Truncate(0); err != nil {
		return here(err)
	}
	_, err := p.file.Seek(0, io.SeekStart)
	return here(err)
}

// add appends bytes of a source.
func (p *part) add(data []byte, source string) error {
	if !slices.Contains(p.from, source) {
		p.from = append(p.from, source)
	}
	n, err := p.file.Write(data)
	p.hash.Write(data[:n])
	p.at += int64(n)
	return here(err)
}

// mixed reports whether something is there that did not come from a source.
func (p *part) mixed(source string) bool {
	return slices.ContainsFunc(p.from, func(from string) bool { return from != source })
}

// verified reports whether the part is the blob.
func (p *part) verified() bool {
	return p.at == p.blob.Size && digest.NewDigest(digest.SHA256, p.hash) == p.blob.Digest
}

// complete writes the content to the disk, and gives the blob its place.
func (p *part) complete(path string) error {
	if err := p.file.Sync(); err != nil {
		return here(err)
	}
	return here(os.Rename(p.file.Name(), path))
}
