package layout

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"weft/agents/transfer/internal/images"
	"weft/routeserver/durable"
)

const latest = "latest" // the tag of the one manifest

// Finish makes an image of a folder that has all blobs, and the manifest's. When it returns, all names are on the disk;
// the blobs' content is the caller's to bring there.
func Finish(folder string, m *Manifest) error {
	for name, of := range m.Files {
		path := filepath.Join(folder, name)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.Link(Blob(folder, of), path); err != nil {
			return err
		}
	}
	one := m.Descriptor
	one.Annotations = map[string]string{ocispec.AnnotationRefName: latest}
	for name, content := range map[string]any{
		ocispec.ImageLayoutFile: ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion},
		ocispec.ImageIndexFile: ocispec.Index{
			Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{one},
		},
	} {
		data, err := json.Marshal(content)
		if err != nil {
			return err
		}
		if err := durable.Replace(filepath.Join(folder, name), data, 0o644); err != nil {
			return err
		}
	}
	return errors.Join(durable.Names(filepath.Join(folder, Blobs)), durable.Names(filepath.Join(folder, "blobs")), durable.Names(folder))
}

// Digest returns the digest of the one manifest that an image's index names.
func Digest(image *os.Root) (digest.Digest, error) {
	data, err := read(image, ocispec.ImageIndexFile)
	if err != nil {
		return "", err
	}
	var index ocispec.Index
	if err := json.Unmarshal(data, &index); err != nil {
		return "", fmt.Errorf("%s: %w", ocispec.ImageIndexFile, err)
	}
	if n := len(index.Manifests); n != 1 {
		return "", fmt.Errorf("%s names %d manifests, not one", ocispec.ImageIndexFile, n)
	}
	return index.Manifests[0].Digest, images.CheckDigest(index.Manifests[0].Digest)
}

// Open returns the manifest of an image. Its content agrees with its digest; the blobs' content is not verified.
func Open(image *os.Root) (*Manifest, error) {
	of, err := Digest(image)
	if err != nil {
		return nil, err
	}
	data, err := read(image, Blob("", of))
	if err != nil {
		return nil, err
	}
	if digest.FromBytes(data) != of {
		return nil, fmt.Errorf("manifest %s: %w", of, ErrWrong)
	}
	return Parse(data)
}

// Whole returns an error unless an image has all blobs and files of its manifest, by their sizes.
func Whole(image *os.Root, m *Manifest) error {
	for _, blob := range m.Blobs {
		info, err := image.Lstat(Blob("", blob.Digest))
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() || info.Size() != blob.Size {
			return fmt.Errorf("blob %s: %w", blob.Digest, ErrWrong)
		}
	}
	for name := range m.Files {
		if _, err := image.Lstat(name); err != nil {
			return err
		}
	}
	return nil
}

func read(image *os.Root, name string) ([]byte, error) {
	file, info, err := OpenRegular(image, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info.Size() > MostManifest {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", name, info.Size(), MostManifest)
	}
	return io.ReadAll(io.LimitReader(file, MostManifest))
}
