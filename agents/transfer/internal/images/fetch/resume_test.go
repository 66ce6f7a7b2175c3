package fetch

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"weft/agents/transfer/internal/images/imagetest"
	"weft/agents/transfer/internal/images/layout"
)

const size, half = 300_000, 150_000

// big is an image with one layer of `size` bytes, and the layer.
func big() (*imagetest.Image, []byte) {
	layer := imagetest.Bytes(1, size)
	return imagetest.Container(layer), layer
}

func TestACutFetchGoesOnWhereItEnded(t *testing.T) {
	g := newRig(t)
	image, layer := big()
	registry := imagetest.NewRegistry(t, image)
	registry.Hook = sends(image.Layers[0], layer[:half], size)
	g.fails("registry: ", g.options(image, g.from("registry", registry)))
	equal(t, g.part(image.Layers[0]), int64(half))
	registry.Hook = nil
	equal(t, g.fetch(image, g.from("registry", registry)), map[string]int64{"registry": half})
	equal(t, registry.Asked(image.Layers[0]), []string{"", fmt.Sprintf("bytes=%d-", half)})
	equal(t, registry.Asked(image.Digest), []string{""})
	g.warned("")
}

func TestTheNextSourceGoesOnWhereOneWasCut(t *testing.T) {
	g := newRig(t)
	image, layer := big()
	cut, whole := imagetest.NewRegistry(t, image), imagetest.NewRegistry(t, image)
	cut.Hook = sends(image.Layers[0], layer[:half], size)
	fetched := g.fetch(image, g.from("c2", cut), g.from("c3", whole))
	config := int64(len(image.Blobs[configOf(image)]))
	equal(t, fetched, map[string]int64{"c2": half + config, "c3": half})
	equal(t, whole.Asked(image.Layers[0]), []string{fmt.Sprintf("bytes=%d-", half)})
	g.warned("")
}

func TestASourceWithoutRangesBeginsAgain(t *testing.T) {
	g := newRig(t)
	image, layer := big()
	cut, whole := imagetest.NewRegistry(t, image), imagetest.NewRegistry(t, image)
	cut.Hook = sends(image.Layers[0], layer[:half], size)
	whole.Hook = sends(image.Layers[0], layer, size)
	equal(t, g.fetch(image, g.from("c2", cut), g.from("c3", whole))["c3"], int64(size))
	g.warned("")
}

func TestASignalKeepsTheParts(t *testing.T) {
	g := newRig(t)
	image, layer := big()
	registry := imagetest.NewRegistry(t, image)
	ctx, stop := context.WithCancel(t.Context())
	registry.Hook = func(w http.ResponseWriter, r *http.Request) bool {
		if !isOf(r, image.Layers[0]) {
			return false
		}
		_, _ = w.Write(layer[:half])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return true
	}
	go func() {
		defer stop()
		path := filepath.Join(coming(g.directory, "web"), parts, image.Layers[0].Encoded())
		for t.Context().Err() == nil { // until the half is there
			if info, err := os.Stat(path); err == nil && info.Size() == half {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := g.run(ctx, g.options(image, g.from("registry", registry))); err != context.Canceled {
		t.Errorf("error %v", err)
	}
	equal(t, g.part(image.Layers[0]), int64(half))
	registry.Hook = nil
	equal(t, g.fetch(image, g.from("registry", registry)), map[string]int64{"registry": half})
}

func TestWholeBlobsOfAnEarlierRunAreVerifiedAgain(t *testing.T) {
	g := newRig(t)
	image := imagetest.Container(imagetest.Bytes(1, 1000), imagetest.Bytes(2, 2000), imagetest.Bytes(3, 3000))
	registry := imagetest.NewRegistry(t, image)
	registry.Hook = sends(image.Layers[2], nil, 3000)
	g.fails("registry: ", g.options(image, g.from("registry", registry)))
	changed := layout.Blob(coming(g.directory, "web"), image.Layers[1])
	if err := os.WriteFile(changed, imagetest.Bytes(4, 2000), 0o644); err != nil {
		t.Fatal(err)
	}
	registry.Hook = nil
	equal(t, g.fetch(image, g.from("registry", registry)), map[string]int64{"registry": 5000})
	equal(t, registry.Asked(image.Layers[0]), []string{""})
}

func TestOfAnotherVersionsWorkOnlyThatStaysWhichIsNeeded(t *testing.T) {
	g := newRig(t)
	shared := imagetest.Bytes(1, 1000)
	older := imagetest.Container(shared, imagetest.Bytes(2, 2000), imagetest.Bytes(3, 3000))
	registry := imagetest.NewRegistry(t, older)
	registry.Hook = sends(older.Layers[2], imagetest.Bytes(3, 1500), 3000)
	g.fails("registry: ", g.options(older, g.from("registry", registry)))
	newer := imagetest.Container(imagetest.Bytes(4, 4000), shared)
	equal(t, g.fetch(newer, g.from("registry", imagetest.NewRegistry(t, newer))), map[string]int64{"registry": 4000})
}
