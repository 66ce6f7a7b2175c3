package fetch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"weft/agents/transfer/internal/images"
	"weft/agents/transfer/internal/images/imagetest"
	"weft/agents/transfer/internal/images/layout"
)

func TestAVMsImageHasItsFiles(t *testing.T) {
	g := newRig(t)
	image := imagetest.VM(imagetest.File{Title: "kernel", Content: imagetest.Bytes(1, 1000)}, imagetest.File{Title: "disk.qcow2", Content: imagetest.Bytes(2, 2000)})
	equal(t, g.fetch(image, g.from("registry", imagetest.NewRegistry(t, image))), map[string]int64{"registry": 3002})
	bad := imagetest.VM(imagetest.File{Title: "../../evil", Content: []byte("x")})
	g = newRig(t)
	if err := g.fails("cannot have", g.options(bad, g.from("registry", imagetest.NewRegistry(t, bad)))); !images.IsRefused(err) {
		t.Error(err)
	}
	if entries, err := os.ReadDir(g.directory); err != nil || len(entries) > 0 {
		t.Errorf("%v is left, %v", entries, err)
	}
}

func TestAnImageInPlaceIsNotFetchedAgain(t *testing.T) {
	g := newRig(t)
	image, _ := big()
	image.Write(t, filepath.Join(g.directory, "web"))
	if err := os.MkdirAll(filepath.Join(coming(g.directory, "web"), "left"), 0o755); err != nil {
		t.Fatal(err)
	}
	registry := imagetest.NewRegistry(t)
	equal(t, g.fetch(image, g.from("registry", registry)), map[string]int64{})
	equal(t, registry.Asked(image.Digest), []string{})
}

func TestSomethingElseInPlaceStaysUnlessItMayBeReplaced(t *testing.T) {
	image, _ := big()
	registry := imagetest.NewRegistry(t, image)
	old := imagetest.Container([]byte("old"))
	for text, put := range map[string]func(folder string) error{
		"another version (" + old.Digest.String() + ") is in place": func(folder string) error { old.Write(t, folder); return nil },
		"something other than an image is in place": func(folder string) error {
			return errors.Join(os.Mkdir(folder, 0o755), os.WriteFile(filepath.Join(folder, "kernel"), nil, 0o644))
		},
		"this version, but damaged": func(folder string) error {
			image.Write(t, folder)
			return os.Truncate(layout.Blob(folder, image.Layers[0]), 5)
		},
		"something other than an image": func(folder string) error { return os.Symlink(t.TempDir(), folder) },
	} {
		g := newRig(t)
		if err := put(filepath.Join(g.directory, "web")); err != nil {
			t.Fatal(err)
		}
		o := g.options(image, g.from("registry", registry))
		if err := g.fails(text, o); !images.IsRefused(err) || !strings.Contains(err.Error(), "--replace") {
			t.Error(err)
		}
		o.Replace = true
		if _, err := g.run(t.Context(), o); err != nil {
			t.Error(err)
		}
		g.inPlace(image)
	}
}

func TestARefusalKeepsTheParts(t *testing.T) {
	g := newRig(t)
	image, layer := big()
	imagetest.Container([]byte("old")).Write(t, filepath.Join(g.directory, "web"))
	registry := imagetest.NewRegistry(t, image)
	registry.Hook = sends(image.Layers[0], layer[:half], size)
	o := g.options(image, g.from("registry", registry))
	o.Replace = true
	g.fails("registry: ", o)
	o.Replace = false
	g.fails("another version", o)
	equal(t, g.part(image.Layers[0]), int64(half))
}

func TestABlobOfAnotherImageIsShared(t *testing.T) {
	g := newRig(t)
	shared, damaged := imagetest.Bytes(1, 1000), imagetest.Bytes(2, 2000)
	other := imagetest.Container(shared, damaged)
	image := imagetest.Container(damaged, shared, imagetest.Bytes(3, 3000))
	folder := filepath.Join(g.directory, "base")
	other.Write(t, folder)
	if err := os.WriteFile(layout.Blob(folder, digest.FromBytes(damaged)), imagetest.Bytes(4, 2000), 0o644); err != nil {
		t.Fatal(err)
	}
	registry := imagetest.NewRegistry(t, image)
	o := g.options(image, g.from("registry", registry))
	o.Most = 5000
	last, err := g.run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, last.Fetched, map[string]int64{"registry": 5000})
	g.inPlace(image)
	g.warned("is not used: its content is not that of its digest")
	equal(t, registry.Asked(digest.FromBytes(shared)), []string{})
	one, _ := os.Stat(layout.Blob(folder, digest.FromBytes(shared)))
	two, _ := os.Stat(layout.Blob(filepath.Join(g.directory, "web"), digest.FromBytes(shared)))
	if !os.SameFile(one, two) {
		t.Error("it is a copy")
	}
}
