package serve

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/opencontainers/go-digest"

	"weft/agents/transfer/internal/images/imagetest"
	"weft/agents/transfer/internal/images/layout"
)

func TestAnImageIsServed(t *testing.T) {
	g := newRig(t)
	layer := imagetest.Bytes(1, 100_000)
	image := imagetest.Container(layer)
	image.Write(t, filepath.Join(g.directory, "web"))
	g.gives("/v2/", http.StatusOK, nil)
	g.gives("/v2/web/manifests/"+image.Digest.String(), http.StatusOK, image.Manifest)
	g.gives(blobOf(image.Layers[0]), http.StatusOK, layer)
	response, body, err := g.ask(http.MethodGet, blobOf(image.Layers[0]), "bytes=99990-")
	if err != nil || response.StatusCode != http.StatusPartialContent || !bytes.Equal(body, layer[99_990:]) {
		t.Errorf("a range: %+v, %d bytes, %v", response, len(body), err)
	}
	for path, length := range map[string]int{blobOf(image.Layers[0]): len(layer), "/v2/web/manifests/" + image.Digest.String(): len(image.Manifest)} {
		response, body, err := g.ask(http.MethodHead, path, "")
		if err != nil || response.StatusCode != http.StatusOK || response.ContentLength != int64(length) || len(body) > 0 {
			t.Errorf("%s: %+v, %v", path, response, err)
		}
	}
	newer := imagetest.Container(imagetest.Bytes(2, 10))
	if err := os.Rename(filepath.Join(g.directory, "web"), filepath.Join(g.directory, ".web.coming")); err != nil {
		t.Fatal(err)
	}
	newer.Write(t, filepath.Join(g.directory, "web"))
	g.gives(blobOf(image.Layers[0]), http.StatusNotFound, nil)
	g.gives("/v2/web/manifests/"+image.Digest.String(), http.StatusNotFound, nil)
	g.gives("/v2/.web.coming/manifests/"+image.Digest.String(), http.StatusNotFound, nil)
	g.gives("/v2/.web.coming/blobs/"+image.Layers[0].String(), http.StatusNotFound, nil)
	g.gives(blobOf(newer.Layers[0]), http.StatusOK, newer.Blobs[newer.Layers[0]])
	g.warned(0, "")
}

func TestNothingElseIsServed(t *testing.T) {
	g := newRig(t)
	image := imagetest.Container([]byte("layer"), []byte("elsewhere"))
	folder := filepath.Join(g.directory, "web")
	image.Write(t, folder)
	secret, outside := []byte("secret"), filepath.Join(t.TempDir(), "outside")
	for _, path := range []string{layout.Blob(folder, digest.FromBytes(secret)), outside, filepath.Join(g.directory, "key.pem")} {
		if err := os.WriteFile(path, secret, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	other := t.TempDir()
	imagetest.Container([]byte("layer")).Write(t, other)
	moved := filepath.Join(t.TempDir(), "moved")
	for _, err := range []error{
		os.Symlink(other, filepath.Join(g.directory, "linked")),
		os.Rename(layout.Blob(folder, digest.FromString("elsewhere")), moved),
		os.Symlink(moved, layout.Blob(folder, digest.FromString("elsewhere"))),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{
		blobOf(digest.FromBytes(secret)), blobOf(digest.FromString("elsewhere")), blobOf(image.Digest),
		"/v2/web/manifests/" + image.Layers[0].String(), "/v2/linked/blobs/" + digest.FromString("layer").String(),
		"/v2/web/manifests/latest", "/v2/web/tags/list", "/v2/_catalog", "/", "/web/index.json", "/v2/web/blobs/../../../key.pem",
		"/v2/web/../web/blobs/" + image.Layers[0].String(), "/v2/../key.pem", "/v2/%2e%2e/blobs/" + image.Layers[0].String(),
		"/v2/web/blobs/sha256:../../index.json", "/v2/web%2f..%2fweb/blobs/" + image.Layers[0].String(), "//v2/web/blobs/" + image.Layers[0].String(),
	} {
		g.gives(path, http.StatusNotFound, nil)
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		if response, _, err := g.ask(method, blobOf(image.Layers[0]), ""); err != nil || response.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: %+v, %v", method, response, err)
		}
	}
	g.gives(blobOf(image.Layers[0]), http.StatusOK, []byte("layer"))
	g.warned(1, "path escapes from parent")
}

func TestABlobThatHasChangedIsNotServed(t *testing.T) {
	g := newRig(t)
	layer := imagetest.Bytes(1, 1000)
	image := imagetest.Container(layer)
	image.Write(t, filepath.Join(g.directory, "web"))
	path := layout.Blob(filepath.Join(g.directory, "web"), image.Layers[0])
	g.gives(blobOf(image.Layers[0]), http.StatusOK, layer)
	for _, content := range [][]byte{imagetest.Bytes(2, 1000), layer[:999]} {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		g.gives(blobOf(image.Layers[0]), http.StatusNotFound, nil)
		g.gives(blobOf(image.Layers[0]), http.StatusNotFound, nil)
	}
	g.warned(1, "is not served: its content is not that of its digest")
	if n := len(g.store.marks.known); n != 3 { // the right one and both wrong ones, each hashed once
		t.Errorf("%d marks", n)
	}
	if err := os.WriteFile(path, layer, 0o644); err != nil {
		t.Fatal(err)
	}
	g.gives(blobOf(image.Layers[0]), http.StatusOK, layer)
	if err := os.WriteFile(layout.Blob(filepath.Join(g.directory, "web"), image.Digest), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	g.gives(blobOf(image.Layers[0]), http.StatusNotFound, nil)
	g.gives("/v2/web/manifests/"+image.Digest.String(), http.StatusNotFound, nil)
	g.warned(2, "its content is not that of its digest")
}
