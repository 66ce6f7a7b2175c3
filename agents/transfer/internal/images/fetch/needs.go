package fetch

import (
	"fmt"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"

	"weft/agents/transfer/internal/images"
)

// needs are the blobs that have to come, and how many bytes of them.
type needs struct {
	blobs []ocispec.Descriptor
	bytes int64
}

func (n *needs) add(blob ocispec.Descriptor, begun int64) {
	n.blobs = append(n.blobs, blob)
	n.bytes += blob.Size - begun
}

// check returns an error if that is more than allowed, or than the folder's file system has room for.
func (n *needs) check(folder string, most int64) error {
	if most >= 0 && n.bytes > most {
		return images.Refuse("%d bytes have to come, and %d are allowed (--most)", n.bytes, most)
	}
	var system unix.Statfs_t
	if err := unix.Statfs(folder, &system); err != nil {
		return fmt.Errorf("the free space at %s: %w", folder, err)
	}
	if free := system.Bavail * uint64(system.Bsize); uint64(n.bytes) > free {
		return fmt.Errorf("%d bytes have to come, and the file system of %s has room for %d", n.bytes, folder, free)
	}
	return nil
}
