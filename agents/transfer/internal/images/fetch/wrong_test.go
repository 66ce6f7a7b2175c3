package fetch

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"weft/agents/transfer/internal/images/imagetest"
)

// configOf returns the digest of an image's configuration.
func configOf(image *imagetest.Image) (found digest.Digest) {
	for of := range image.Blobs {
		if !slices.Contains(image.Layers, of) {
			found = of
		}
	}
	return found
}

func TestAfterAWrongSourceComesARightOne(t *testing.T) {
	image, layer := big()
	wrong := slices.Clone(layer)
	wrong[half] ^= 1
	for name, one := range map[string]struct {
		of      digest.Digest
		content []byte
		length  int
		warning string
	}{
		"a wrong byte":                 {image.Layers[0], wrong, size, "c2 is left out: blob"},
		"a wrong byte without length":  {image.Layers[0], wrong, -1, "c2 is left out: blob"},
		"fewer bytes":                  {image.Layers[0], layer[:half], half, ""},
		"fewer bytes without length":   {image.Layers[0], layer[:half], -1, ""},
		"more bytes":                   {image.Layers[0], append(slices.Clone(layer), 0), size + 1, ""},
		"wrong manifest":               {image.Digest, imagetest.Container(layer, layer).Manifest, -1, "c2 is left out: manifest"},
		"a manifest that never ends":   {image.Digest, make([]byte, 5<<20), -1, ""},
		"another image's layer":        {image.Layers[0], imagetest.Bytes(7, size), size, "c2 is left out: blob"},
		"wrong bytes that never end":   {image.Layers[0], append(slices.Clone(wrong), layer...), -1, "c2 is left out: blob"},
		"a connection without a reply": {image.Layers[0], nil, size, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			bad, good := imagetest.NewRegistry(t, image), imagetest.NewRegistry(t, image)
			bad.Hook = sends(one.of, one.content, one.length)
			g.fetch(image, g.from("c2", bad), g.from("c3", good))
			g.warned(one.warning)
			g = newRig(t)
			err := g.fails("c2: ", g.options(image, g.from("c2", bad)))
			if err != nil && bytes.ContainsRune([]byte(err.Error()), '\n') {
				t.Errorf("more than one line: %v", err)
			}
		})
	}
}

func TestBytesBeyondTheEndAreCutOff(t *testing.T) {
	g := newRig(t)
	image, layer := big()
	registry := imagetest.NewRegistry(t, image)
	registry.Hook = sends(image.Layers[0], append(slices.Clone(layer), layer...), -1)
	equal(t, g.fetch(image, g.from("c2", registry))["c2"], int64(size+len(image.Blobs[configOf(image)])))
}

func TestASourceIsNotBlamedForTheBytesOfAnother(t *testing.T) {
	g := newRig(t)
	image, layer := big()
	wrong := slices.Clone(layer)
	wrong[0] ^= 1
	cut, whole := imagetest.NewRegistry(t, image), imagetest.NewRegistry(t, image)
	cut.Hook = sends(image.Layers[0], wrong[:half], size)
	g.fetch(image, g.from("c2", cut), g.from("c3", whole))
	equal(t, whole.Asked(image.Layers[0]), []string{fmt.Sprintf("bytes=%d-", half), ""})
	g.warned("")
}

func TestASourceThatIsWrongTwiceIsLeftOut(t *testing.T) {
	g := newRig(t)
	first, second := imagetest.Bytes(1, size), imagetest.Bytes(2, size)
	image := imagetest.Container(first, second)
	cut, bad, good := imagetest.NewRegistry(t, image), imagetest.NewRegistry(t, image), imagetest.NewRegistry(t, image)
	cut.Hook = func(w http.ResponseWriter, r *http.Request) bool {
		if isOf(r, image.Layers[1]) { // so that the next source would be asked for it
			w.WriteHeader(http.StatusNotFound)
			return true
		}
		return sends(image.Layers[0], first[:half], size)(w, r)
	}
	bad.Hook = sends(image.Layers[0], second, size)
	g.fetch(image, g.from("c2", cut), g.from("c3", bad), g.from("c4", good))
	equal(t, len(bad.Asked(image.Layers[0])), 1) // it ignores the range, and so the whole is its own
	equal(t, bad.Asked(image.Layers[1]), []string{})
	g.warned("c3 is left out")
}

func TestASilentSourceIsLeft(t *testing.T) {
	image, layer := big()
	for name, first := range map[string]int{"before the answer": -1, "in the middle": half} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			silent, good := imagetest.NewRegistry(t, image), imagetest.NewRegistry(t, image)
			silent.Hook = func(w http.ResponseWriter, r *http.Request) bool {
				if !isOf(r, image.Layers[0]) {
					return false
				}
				if first > 0 {
					_, _ = w.Write(layer[:first])
					_ = http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
				return true
			}
			from := g.from("c2", silent)
			from.Silence = 500 * time.Millisecond
			fetched := g.fetch(image, from, g.from("c3", good))
			equal(t, fetched["c3"], int64(size-max(first, 0)))
			g = newRig(t)
			g.fails("c2: it has given nothing for 500ms", g.options(image, from))
		})
	}
}

func TestASourceThatLacksABlobGivesOthers(t *testing.T) {
	g := newRig(t)
	image := imagetest.Container(imagetest.Bytes(1, 1000), imagetest.Bytes(2, 2000))
	lacking, whole := imagetest.NewRegistry(t, image), imagetest.NewRegistry(t, image)
	lacking.Hook = func(w http.ResponseWriter, r *http.Request) bool {
		if isOf(r, image.Layers[0]) {
			w.WriteHeader(http.StatusNotFound)
		}
		return isOf(r, image.Layers[0])
	}
	equal(t, g.fetch(image, g.from("c2", lacking), g.from("c3", whole))["c3"], int64(1000))
}

func TestReasonsAreGivenForEachSource(t *testing.T) {
	g := newRig(t)
	image, _ := big()
	away, without := imagetest.NewRegistry(t), imagetest.NewRegistry(t)
	away.Close()
	o := g.options(image, g.from("c2", away), g.from("registry", without))
	g.fails("no source gives the manifest: c2: ", o)
	g.fails("; registry: it answers 404 Not Found", o)
}
