// Package layout is an image on disk: a folder in the OCI image layout with one manifest. Beside it, an image of a virtual
// machine has its files under their own names, as hard links to their blobs.
package layout

import (
	"encoding/json"
	"math"
	"runtime"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"weft/agents/transfer/internal/images"
)

// VM is the artefact type of images of virtual machines.
const VM = "application/vnd.weft.vm.v1"

// MostManifest is how many bytes a manifest has at most.
const MostManifest = 4 << 20

// Files are the names that the files of a virtual machine's image can have, in their order in the manifest.
var Files = []string{"kernel", "initramfs", "cmdline", "disk.qcow2"}

// Memory begins the name of a base memory, which goes on with its digest in hex (`weft-agent base-memory` makes it).
const Memory = "memory."

// IsFile reports whether a virtual machine's image can have a file of that name and content.
func IsFile(name string, of digest.Digest) bool {
	return slices.Contains(Files, name) || name == Memory+of.Encoded()
}

// The media types of Docker's registry API, version 2 schema 2.
const (
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	dockerIndex    = "application/vnd.docker.distribution.manifest.list.v2+json"
	dockerConfig   = "application/vnd.docker.container.image.v1+json"
)

// MediaTypes are those of manifests that Parse understands, and of indexes, which it refuses with an advice.
var MediaTypes = []string{ocispec.MediaTypeImageManifest, dockerManifest, ocispec.MediaTypeImageIndex, dockerIndex}

// Manifest is a manifest that was checked.
type Manifest struct {
	Data       []byte
	Descriptor ocispec.Descriptor
	Blobs      []ocispec.Descriptor     // the configuration and the layers, each digest once
	Files      map[string]digest.Digest // of a virtual machine's image; otherwise empty
}

// Bytes returns the size of all blobs.
func (m *Manifest) Bytes() (sum int64) {
	for _, blob := range m.Blobs {
		sum += blob.Size
	}
	return sum
}

// Blob returns the descriptor of a blob that the manifest names.
func (m *Manifest) Blob(wanted digest.Digest) (ocispec.Descriptor, bool) {
	n := slices.IndexFunc(m.Blobs, func(blob ocispec.Descriptor) bool { return blob.Digest == wanted })
	if n < 0 {
		return ocispec.Descriptor{}, false
	}
	return m.Blobs[n], true
}

// Parse checks a manifest, whose digest the caller has verified. Other content than the image of a container or of a
// virtual machine is refused.
func Parse(data []byte) (*Manifest, error) {
	var read struct {
		ocispec.Manifest
		Manifests []ocispec.Descriptor `json:"manifests"`
	}
	if err := json.Unmarshal(data, &read); err != nil {
		return nil, images.Refuse("the manifest cannot be read: %v", err)
	}
	switch read.MediaType {
	case ocispec.MediaTypeImageIndex, dockerIndex:
		return nil, severalPlatforms(read.Manifests)
	case "":
		if read.Manifests != nil && read.Layers == nil {
			return nil, severalPlatforms(read.Manifests)
		}
		read.MediaType = ocispec.MediaTypeImageManifest
	case ocispec.MediaTypeImageManifest, dockerManifest:
	default:
		return nil, images.Refuse("the manifest has the media type %q, not that of an image", read.MediaType)
	}
	if read.Manifests != nil {
		return nil, images.Refuse("the manifest has both layers and other manifests")
	}
	m := &Manifest{Data: data, Descriptor: ocispec.Descriptor{
		MediaType: read.MediaType, ArtifactType: read.ArtifactType, Digest: digest.FromBytes(data), Size: int64(len(data)),
	}}
	for _, blob := range append([]ocispec.Descriptor{read.Config}, read.Layers...) {
		if err := m.add(blob); err != nil {
			return nil, err
		}
	}
	switch config := read.Config.MediaType; {
	case read.ArtifactType == VM:
		return m, m.name(read.Layers)
	case read.ArtifactType != "":
		return nil, images.Refuse("the manifest is of an artefact of type %q, not %s", read.ArtifactType, VM)
	case config != ocispec.MediaTypeImageConfig && config != dockerConfig:
		return nil, images.Refuse("the manifest's configuration has the media type %q, not that of a container's image", config)
	}
	return m, nil
}

// add adds a blob.
func (m *Manifest) add(blob ocispec.Descriptor) error {
	if err := images.CheckDigest(blob.Digest); err != nil {
		return images.Refuse("the manifest's digest %v", err)
	}
	if blob.Size < 0 || blob.Size > math.MaxInt64-m.Bytes() {
		return images.Refuse("the manifest says that blob %s has %d bytes", blob.Digest, blob.Size)
	}
	known, there := m.Blob(blob.Digest)
	if there && known.Size != blob.Size {
		return images.Refuse("the manifest says that blob %s has both %d and %d bytes", blob.Digest, known.Size, blob.Size)
	}
	if !there {
		m.Blobs = append(m.Blobs, blob)
	}
	return nil
}

// name finds the files of a virtual machine's image.
func (m *Manifest) name(layers []ocispec.Descriptor) error {
	m.Files = map[string]digest.Digest{}
	for _, layer := range layers {
		title := layer.Annotations[ocispec.AnnotationTitle]
		if !IsFile(title, layer.Digest) {
			return images.Refuse("the manifest names a file %q, which an image of a virtual machine cannot have", title)
		}
		if _, twice := m.Files[title]; twice {
			return images.Refuse("the manifest names the file %s twice", title)
		}
		m.Files[title] = layer.Digest
	}
	if len(m.Files) == 0 {
		return images.Refuse("the manifest names no file of a virtual machine")
	}
	return nil
}

// severalPlatforms refuses an index, and says which of its manifests is for this machine.
func severalPlatforms(manifests []ocispec.Descriptor) error {
	for _, one := range manifests {
		if one.Platform != nil && one.Platform.OS == "linux" && one.Platform.Architecture == runtime.GOARCH && images.CheckDigest(one.Digest) == nil {
			return images.Refuse("the digest is of an index of several platforms; the one for linux/%s is %s", runtime.GOARCH, one.Digest)
		}
	}
	return images.Refuse("the digest is of an index of several platforms, of which none is linux/%s", runtime.GOARCH)
}
