// Package imagetest makes images for tests, and registries that have them.
package imagetest

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"weft/agents/transfer/internal/images/layout"
)

// Image is an image in memory.
type Image struct {
	Manifest []byte
	Digest   digest.Digest
	Blobs    map[digest.Digest][]byte
	Layers   []digest.Digest
}

// Bytes returns content that no compression makes smaller: the same for the same seed.
func Bytes(seed uint64, n int) []byte {
	from, made := rand.New(rand.NewPCG(seed, 1)), make([]byte, n)
	for i := range made {
		made[i] = byte(from.Uint32())
	}
	return made
}

// Container returns a container's image with those layers.
func Container(layers ...[]byte) *Image {
	var named []ocispec.Descriptor
	for _, layer := range layers {
		named = append(named, describe(ocispec.MediaTypeImageLayer, layer, ""))
	}
	return build("", describe(ocispec.MediaTypeImageConfig, []byte(`{"architecture":"amd64","os":"linux"}`), ""), []byte(`{"architecture":"amd64","os":"linux"}`), named, layers)
}

// File is a file of a virtual machine's image, by its title.
type File struct {
	Title   string
	Content []byte
}

// VM returns a virtual machine's image with those files, whatever their titles.
func VM(files ...File) *Image {
	var named []ocispec.Descriptor
	var layers [][]byte
	for _, file := range files {
		named = append(named, describe("application/octet-stream", file.Content, file.Title))
		layers = append(layers, file.Content)
	}
	return build(layout.VM, ocispec.DescriptorEmptyJSON, ocispec.DescriptorEmptyJSON.Data, named, layers)
}

func describe(kind string, content []byte, title string) ocispec.Descriptor {
	made := ocispec.Descriptor{MediaType: kind, Digest: digest.FromBytes(content), Size: int64(len(content))}
	if title != "" {
		made.Annotations = map[string]string{ocispec.AnnotationTitle: title}
	}
	return made
}

func build(kind string, config ocispec.Descriptor, content []byte, named []ocispec.Descriptor, layers [][]byte) *Image {
	made := &Image{Blobs: map[digest.Digest][]byte{config.Digest: content}}
	for _, layer := range layers {
		made.Blobs[digest.FromBytes(layer)] = layer
		made.Layers = append(made.Layers, digest.FromBytes(layer))
	}
	data, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: kind, Config: config, Layers: named,
	})
	if err != nil {
		panic(err)
	}
	made.Manifest, made.Digest = data, digest.FromBytes(data)
	return made
}

// Write puts an image in place at a folder.
func (i *Image) Write(t *testing.T, folder string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(folder, layout.Blobs), 0o755); err != nil {
		t.Fatal(err)
	}
	put := func(of digest.Digest, content []byte) {
		if err := os.WriteFile(layout.Blob(folder, of), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put(i.Digest, i.Manifest)
	for of, content := range i.Blobs {
		put(of, content)
	}
	m, err := layout.Parse(i.Manifest)
	if err == nil {
		err = layout.Finish(folder, m)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Check fails the test unless the image is in place at a folder, with all its content and nothing else.
func (i *Image) Check(t *testing.T, folder string) {
	t.Helper()
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Error(err)
		return
	}
	defer root.Close()
	m, err := layout.Open(root)
	if err != nil || m.Descriptor.Digest != i.Digest {
		t.Errorf("the manifest at %s: %+v, %v", folder, m, err)
		return
	}
	for of, content := range i.Blobs {
		if found, err := os.ReadFile(layout.Blob(folder, of)); err != nil || !bytes.Equal(found, content) {
			t.Errorf("blob %s: %d bytes, %v", of, len(found), err)
		}
	}
	for name, of := range m.Files {
		file, err := os.Stat(filepath.Join(folder, name))
		blob, missing := os.Stat(layout.Blob(folder, of))
		if err != nil || missing != nil || !os.SameFile(file, blob) {
			t.Errorf("%s is not its blob: %v, %v", name, err, missing)
		}
	}
	if entries, _ := os.ReadDir(folder); len(entries) != 3+len(m.Files) {
		t.Errorf("%s has %v", folder, entries)
	}
	if blobs, _ := os.ReadDir(filepath.Join(folder, layout.Blobs)); len(blobs) != 1+len(i.Blobs) {
		t.Errorf("%d blobs, not %d", len(blobs), 1+len(i.Blobs))
	}
}
