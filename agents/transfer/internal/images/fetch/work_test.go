package fetch

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"weft/agents/transfer/internal/images"
	"weft/agents/transfer/internal/images/imagetest"
)

func TestOneOfTwoFetchesAtOnceEnds(t *testing.T) {
	g := newRig(t)
	image, _ := big()
	registry := imagetest.NewRegistry(t, image)
	begun, goOn := make(chan struct{}), make(chan struct{})
	registry.Hook = func(_ http.ResponseWriter, r *http.Request) bool {
		if isOf(r, image.Layers[0]) {
			close(begun)
			<-goOn
		}
		return false
	}
	first := make(chan error, 1)
	go func() {
		_, err := g.run(t.Context(), g.options(image, g.from("registry", registry)))
		first <- err
	}()
	<-begun
	if err := g.fails("another fetch of web runs", g.options(image, g.from("registry", registry))); images.IsRefused(err) {
		t.Error(err)
	}
	close(goOn)
	if err := <-first; err != nil {
		t.Error(err)
	}
	g.inPlace(image)
}

func TestTheLockOfAFolderThatIsInPlaceIsNotTheWorks(t *testing.T) {
	directory := t.TempDir()
	w, err := begin(directory, "web")
	if err != nil || !w.current() {
		t.Fatal(w, err)
	}
	defer w.Close()
	if err := os.Rename(w.path, filepath.Join(directory, "web")); err != nil || w.current() {
		t.Errorf("moved: %v", err)
	}
	next, err := begin(directory, "web")
	if err != nil || w.current() || !next.current() {
		t.Fatal("a new one", err)
	}
	next.Close()
}
