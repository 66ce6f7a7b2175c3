// Package pack makes images of virtual machines from their files.
package pack

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"weft/agents/transfer/internal/images/layout"
	"weft/agents/transfer/internal/images/oras"
)

// Pack makes an image at a folder, which must be empty or absent, from files with the names of layout.Files. The same
// files give the same manifest, whose digest it returns.
func Pack(ctx context.Context, folder string, files []string) (made digest.Digest, err error) {
	if len(files) == 0 {
		return "", errors.New("an image of a virtual machine has a file at least")
	}
	named := map[string]string{}
	for _, file := range files {
		name := filepath.Base(file)
		if !slices.Contains(layout.Files, name) && !strings.HasPrefix(name, layout.Memory) {
			return "", fmt.Errorf("%s: an image of a virtual machine has the files %q, and a base memory", file, layout.Files)
		}
		if _, twice := named[name]; twice {
			return "", fmt.Errorf("%s: there is another %s", file, name)
		}
		named[name] = file
	}
	if entries, err := os.ReadDir(folder); len(entries) > 0 {
		return "", fmt.Errorf("%s is not empty", folder)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := os.MkdirAll(filepath.Join(folder, layout.Blobs), 0o755); err != nil {
		return "", err
	}
	defer func() {
		if err != nil { // the folder is as empty as it was
			err = errors.Join(err, os.RemoveAll(filepath.Join(folder, "blobs")))
		}
	}()
	var layers []ocispec.Descriptor
	for _, name := range inOrder(named) {
		layer, err := take(ctx, folder, named[name])
		if err != nil {
			return "", err
		}
		if !layout.IsFile(name, layer.Digest) {
			return "", fmt.Errorf("%s: a base memory is called %s and its digest, here %s", named[name], layout.Memory, layer.Digest.Encoded())
		}
		layer.Annotations = map[string]string{ocispec.AnnotationTitle: name}
		layers = append(layers, layer)
	}
	data, err := oras.Artefact(ctx, layout.VM, layers)
	if err != nil {
		return "", err
	}
	for _, content := range [][]byte{data, ocispec.DescriptorEmptyJSON.Data} {
		if _, err := write(ctx, folder, bytes.NewReader(content)); err != nil {
			return "", err
		}
	}
	m, err := layout.Parse(data)
	if err != nil {
		return "", err
	}
	return m.Descriptor.Digest, layout.Finish(folder, m)
}

// inOrder returns the names as a manifest has them: layout.Files, then base memories.
func inOrder(named map[string]string) []string {
	place := func(name string) int {
		if n := slices.Index(layout.Files, name); n >= 0 {
			return n
		}
		return len(layout.Files)
	}
	return slices.SortedFunc(maps.Keys(named), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
	})
}

func take(ctx context.Context, folder, path string) (ocispec.Descriptor, error) {
	file, err := os.Open(path)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	defer file.Close()
	return write(ctx, folder, file)
}

// write adds a blob to an image.
func write(ctx context.Context, folder string, content io.Reader) (ocispec.Descriptor, error) {
	fresh := filepath.Join(folder, layout.Blobs, "fresh")
	file, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	digester := digest.SHA256.Digester()
	size, err := layout.Hash(ctx, io.MultiWriter(file, digester.Hash()), content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(fresh, layout.Blob(folder, digester.Digest()))
	}
	return ocispec.Descriptor{MediaType: "application/octet-stream", Digest: digester.Digest(), Size: size}, err
}
