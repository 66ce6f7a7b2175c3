package imagetest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
)

// Registry has images in memory: pushes and pulls of the OCI distribution API, for one repository. Before an answer it
// asks Hook, if there is one, which returns whether it has answered itself.
type Registry struct {
	*httptest.Server
	Hook     func(w http.ResponseWriter, r *http.Request) bool
	Password string // of the user "weft"; empty: everybody may come

	mu    sync.Mutex
	asked []string
	have  map[string][]byte // by kind/reference
}

// NewRegistry returns a registry that has images, until the end of the test.
func NewRegistry(t *testing.T, having ...*Image) *Registry {
	made := &Registry{have: map[string][]byte{}}
	for _, image := range having {
		made.have["manifests/"+image.Digest.String()] = image.Manifest
		for of, content := range image.Blobs {
			made.have["blobs/"+of.String()] = content
		}
	}
	made.Server = httptest.NewServer(made)
	t.Cleanup(func() {
		made.CloseClientConnections()
		made.Close()
	})
	return made
}

// Repository returns the registry's repository, as HOST:PORT/REPOSITORY.
func (r *Registry) Repository() string {
	return strings.TrimPrefix(r.URL, "http://") + "/images"
}

// Asked returns the ranges with which a blob or manifest was read so far; an empty one is the whole.
func (r *Registry) Asked(of digest.Digest) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := []string{}
	for _, one := range r.asked {
		if span, is := strings.CutPrefix(one, of.String()+" "); is {
			found = append(found, span)
		}
	}
	return found
}

// Tagged returns the content of a manifest by its tag or digest.
func (r *Registry) Tagged(reference string) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.have["manifests/"+reference]
}

func (r *Registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	path, _ := strings.CutPrefix(request.URL.Path, "/v2/images/")
	if _, password, _ := request.BasicAuth(); password != r.Password {
		w.Header().Set("WWW-Authenticate", `Basic realm="images"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if request.Method == http.MethodGet {
		r.mu.Lock()
		r.asked = append(r.asked, path[strings.LastIndex(path, "/")+1:]+" "+request.Header.Get("Range"))
		r.mu.Unlock()
	}
	if r.Hook != nil && r.Hook(w, request) {
		return
	}
	switch request.Method {
	case http.MethodGet, http.MethodHead:
		r.give(w, request, path)
	case http.MethodPost:
		w.Header().Set("Location", "/v2/images/blobs/uploads/1")
		w.WriteHeader(http.StatusAccepted)
	case http.MethodPut:
		r.take(w, request, path)
	}
}

func (r *Registry) give(w http.ResponseWriter, request *http.Request, path string) {
	content := r.Tagged(strings.TrimPrefix(path, "manifests/"))
	kind := "application/vnd.oci.image.manifest.v1+json"
	if blob, is := strings.CutPrefix(path, "blobs/"); is {
		r.mu.Lock()
		content, kind = r.have["blobs/"+blob], "application/octet-stream"
		r.mu.Unlock()
	}
	if content == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Docker-Content-Digest", digest.FromBytes(content).String())
	http.ServeContent(w, request, "", time.Time{}, bytes.NewReader(content))
}

func (r *Registry) take(w http.ResponseWriter, request *http.Request, path string) {
	content, err := io.ReadAll(request.Body)
	of := digest.FromBytes(content)
	if wanted := request.URL.Query().Get("digest"); err != nil || wanted != "" && wanted != of.String() {
		http.Error(w, fmt.Sprint(wanted, err), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	if strings.HasPrefix(path, "manifests/") {
		r.have[path], r.have["manifests/"+of.String()] = content, content
	} else {
		r.have["blobs/"+of.String()] = content
	}
	r.mu.Unlock()
	w.Header().Set("Docker-Content-Digest", of.String())
	w.WriteHeader(http.StatusCreated)
}
