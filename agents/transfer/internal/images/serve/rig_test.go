package serve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"weft/agents/transfer/internal/images/imagetest"
	"weft/agents/transfer/internal/images/layout"
	"weft/routeserver/identity"
	"weft/routeserver/identity/identitytest"
)

// rig is a store of cloudlet c1, and cloudlet c2 that asks it.
type rig struct {
	t                         *testing.T
	directory, server, client string
	region                    *identitytest.Signer
	address                   string
	store                     *Store

	mu       sync.Mutex
	warnings []string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	g := &rig{t: t, directory: t.TempDir(), server: t.TempDir(), client: t.TempDir(), region: identitytest.NewSigner(t)}
	g.region.Certify(g.server, "c1", "127.0.78.1")
	g.region.Certify(g.client, "c2", "127.0.78.2")
	store, err := New([]string{t.TempDir(), g.directory}, 0, func(format string, args ...any) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.warnings = append(g.warnings, fmt.Sprintf(format, args...))
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := Listen(t.Context(), "127.0.78.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.store, g.address = store, listener.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- store.Serve(ctx, listener, identity.New(g.server).Cloudlets()) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return g
}

// ask sends a request over a new connection. The path goes as it is, with all its dots.
func (g *rig) ask(method, path, span string) (*http.Response, []byte, error) {
	g.t.Helper()
	secure, err := identity.New(g.client).Peer("c1")
	if err != nil {
		g.t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: secure}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(g.t.Context(), method, "https://"+g.address, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	request.URL.Opaque = path
	if span != "" {
		request.Header.Set("Range", span)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response, body, err
}

// gives fails the test unless a path has an answer of that status, with that content if there is one.
func (g *rig) gives(path string, status int, content []byte) {
	g.t.Helper()
	response, body, err := g.ask(http.MethodGet, path, "")
	if err != nil || response.StatusCode != status || content != nil && !bytes.Equal(body, content) {
		g.t.Errorf("%s: %+v, %d bytes, %v; not %d", path, response, len(body), err, status)
	}
}

// warned fails the test unless there was that number of warnings, each with the text.
func (g *rig) warned(n int, text string) {
	g.t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, warning := range g.warnings {
		if !strings.Contains(warning, text) {
			n = -1
		}
	}
	if len(g.warnings) != n {
		g.t.Errorf("%q", g.warnings)
	}
}

func blobOf(of digest.Digest) string { return "/v2/web/blobs/" + of.String() }

func parsed(t *testing.T, image *imagetest.Image) *layout.Manifest {
	t.Helper()
	m, err := layout.Parse(image.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// opened opens the first layer of an image in place.
func opened(t *testing.T, folder string, image *imagetest.Image) (*os.File, ocispec.Descriptor) {
	t.Helper()
	file, err := os.Open(layout.Blob(folder, image.Layers[0]))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	blob, _ := parsed(t, image).Blob(image.Layers[0])
	return file, blob
}
