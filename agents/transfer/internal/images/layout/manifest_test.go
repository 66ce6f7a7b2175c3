package layout_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"weft/agents/transfer/internal/images"
	"weft/agents/transfer/internal/images/imagetest"
	"weft/agents/transfer/internal/images/layout"
)

func refused(t *testing.T, data []byte, text string) {
	t.Helper()
	m, err := layout.Parse(data)
	if m != nil && err == nil || !images.IsRefused(err) || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, not %q", err, text)
	}
}

func TestFilesOfAVMHaveTheirNames(t *testing.T) {
	file := func(title string) imagetest.File { return imagetest.File{Title: title, Content: []byte(title)} }
	memory := imagetest.File{Title: layout.Memory + digest.FromString("pages").Encoded(), Content: []byte("pages")}
	m, err := layout.Parse(imagetest.VM(file("kernel"), file("initramfs"), file("cmdline"), file("disk.qcow2"), memory).Manifest)
	if err != nil || len(m.Files) != 5 || m.Files[memory.Title] != digest.FromString("pages") || m.Files["kernel"] != digest.FromString("kernel") || m.Descriptor.ArtifactType != layout.VM {
		t.Errorf("%+v, %v", m, err)
	}
	for _, title := range []string{"memory.", "memory." + digest.FromString("another").Encoded(), "../kernel", "/etc/passwd", "blobs", "index.json", "", ".", "disk.qcow2/x", "Kernel"} {
		refused(t, imagetest.VM(file("kernel"), file(title)).Manifest, "cannot have")
	}
	refused(t, imagetest.VM(file("kernel"), imagetest.File{Title: "kernel", Content: []byte("another")}).Manifest, "the file kernel twice")
	refused(t, imagetest.VM().Manifest, "names no file")
}

func TestAnIndexIsRefusedWithTheRightDigest(t *testing.T) {
	own, other := digest.FromString("own"), digest.FromString("other")
	index := func(mediaType, architecture string) []byte {
		data, _ := json.Marshal(ocispec.Index{MediaType: mediaType, Manifests: []ocispec.Descriptor{
			{Digest: other, Platform: &ocispec.Platform{OS: "linux", Architecture: "other"}},
			{Digest: own, Platform: &ocispec.Platform{OS: "linux", Architecture: architecture}},
		}})
		return data
	}
	refused(t, index(ocispec.MediaTypeImageIndex, runtime.GOARCH), "for linux/"+runtime.GOARCH+" is "+own.String())
	refused(t, index("application/vnd.docker.distribution.manifest.list.v2+json", runtime.GOARCH), own.String())
	refused(t, index("", runtime.GOARCH), own.String())
	refused(t, index(ocispec.MediaTypeImageIndex, "another"), "none is linux/"+runtime.GOARCH)
}

func TestOtherManifestsAreRefused(t *testing.T) {
	good := string(imagetest.Container([]byte("layer")).Manifest)
	if _, err := layout.Parse([]byte(good)); err != nil {
		t.Error(err)
	}
	docker := strings.NewReplacer(ocispec.MediaTypeImageManifest, "application/vnd.docker.distribution.manifest.v2+json",
		ocispec.MediaTypeImageConfig, "application/vnd.docker.container.image.v1+json").Replace(good)
	if m, err := layout.Parse([]byte(docker)); err != nil || m.Descriptor.MediaType != "application/vnd.docker.distribution.manifest.v2+json" {
		t.Errorf("%+v, %v", m, err)
	}
	layer := digest.FromString("layer").String()
	for text, changed := range map[string]string{
		"cannot be read":                  good[1:],
		"has the media type":              strings.Replace(good, ocispec.MediaTypeImageManifest, "text/plain", 1),
		"both layers and other manifests": strings.Replace(good, `"schemaVersion"`, `"manifests":[],"schemaVersion"`, 1),
		"configuration has":               strings.Replace(good, ocispec.MediaTypeImageConfig, "application/vnd.cncf.helm.config.v1+json", 1),
		"artefact of type":                strings.Replace(good, `"schemaVersion"`, `"artifactType":"text/plain","schemaVersion"`, 1),
		"not of the form":                 strings.Replace(good, layer, "sha512:"+layer[7:], 1),
		"-5 bytes":                        strings.Replace(good, `"size":5`, `"size":-5`, 1),
		"9223372036854775807 bytes":       strings.Replace(good, `"size":5`, `"size":9223372036854775807`, 1),
	} {
		refused(t, []byte(changed), text)
	}
	twice := imagetest.Container([]byte("layer"), []byte("layer")).Manifest
	if m, err := layout.Parse(twice); err != nil || len(m.Blobs) != 2 {
		t.Errorf("a layer twice: %+v, %v", m, err)
	}
	refused(t, []byte(strings.Replace(string(twice), `"size":5`, `"size":6`, 1)), "both 6 and 5 bytes")
}
