package fetch

import (
	"strconv"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"weft/agents/transfer/internal/images"
	"weft/agents/transfer/internal/images/imagetest"
)

func TestBytesThatHaveToComeAreBounded(t *testing.T) {
	g := newRig(t)
	image, layer := big()
	registry := imagetest.NewRegistry(t, image)
	o := g.options(image, g.from("registry", registry))
	needed := int64(size + len(image.Blobs[configOf(image)]))
	o.Most = needed - 1
	if err := g.fails(strconv.FormatInt(needed, 10)+" bytes have to come, and "+strconv.FormatInt(o.Most, 10)+" are allowed", o); !images.IsRefused(err) {
		t.Error(err)
	}
	equal(t, len(registry.Asked(image.Layers[0]))+len(registry.Asked(configOf(image))), 0)
	registry.Hook = sends(image.Layers[0], layer[:half], size)
	o.Most = needed
	g.fails("registry: ", o)
	registry.Hook, o.Most = nil, size-half // the part does not count
	if _, err := g.run(t.Context(), o); err != nil {
		t.Error(err)
	}
}

func TestAnImageThatHasNoRoomIsNotBegun(t *testing.T) {
	g := newRig(t)
	image := imagetest.Container([]byte("layer"))
	image.Manifest = []byte(strings.Replace(string(image.Manifest), `"size":5`, `"size":4611686018427387904`, 1))
	image.Digest = digest.FromBytes(image.Manifest)
	registry := imagetest.NewRegistry(t, image)
	if err := g.fails(" bytes have to come, and the file system of ", g.options(image, g.from("registry", registry))); images.IsRefused(err) {
		t.Error(err)
	}
	equal(t, len(registry.Asked(configOf(image))), 0)
}
