// Package serve gives other cloudlets the images that are in place here: the read part of the OCI distribution API, for
// what the images' manifests name and nothing else.
package serve

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"golang.org/x/time/rate"

	"weft/agents/transfer/internal/images"
	"weft/agents/transfer/internal/images/layout"
)

// Store answers requests from the images of some directories.
type Store struct {
	roots []*os.Root
	limit *rate.Limiter
	marks *marks
}

// New returns the store of directories of images, which have to exist. `bits` per second may leave; 0: no limit.
func New(directories []string, bits int64, warn func(format string, args ...any)) (*Store, error) {
	s := &Store{limit: images.Bandwidth(bits), marks: newMarks(warn)}
	for _, directory := range directories {
		root, err := os.OpenRoot(directory)
		if err != nil {
			return nil, err
		}
		s.roots = append(s.roots, root)
	}
	return s, nil
}

// ServeHTTP answers GET and HEAD of /v2/, /v2/NAME/manifests/DIGEST and /v2/NAME/blobs/DIGEST.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	extend(w)
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close") // a body is not waited for
		refuse(w, http.StatusBadRequest, "UNSUPPORTED")
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		refuse(w, http.StatusMethodNotAllowed, "UNSUPPORTED")
		return
	}
	path, found := strings.CutPrefix(r.URL.Path, "/v2/")
	if found && path == "" {
		w.WriteHeader(http.StatusOK)
		return
	}
	parts := strings.Split(path, "/")
	if !found || len(parts) != 3 || !images.IsName(parts[0]) || images.CheckDigest(digest.Digest(parts[2])) != nil {
		refuse(w, http.StatusNotFound, "NAME_UNKNOWN")
		return
	}
	name, wanted := parts[0], digest.Digest(parts[2])
	switch parts[1] {
	case "manifests":
		s.manifest(w, r, name, wanted)
	case "blobs":
		s.blob(w, r, name, wanted)
	default:
		refuse(w, http.StatusNotFound, "NAME_UNKNOWN")
	}
}

// manifest answers with a manifest, if it is that of the image.
func (s *Store) manifest(w http.ResponseWriter, r *http.Request, name string, wanted digest.Digest) {
	for _, root := range s.roots {
		image, m := s.open(root, name)
		if m == nil {
			continue
		}
		_ = image.Close()
		if m.Descriptor.Digest == wanted {
			head(w, m.Descriptor.MediaType, m.Descriptor)
			content := strings.NewReader(string(m.Data))
			http.ServeContent(w, r, "", time.Time{}, &paced{r.Context(), w, content, s.limit})
			return
		}
	}
	refuse(w, http.StatusNotFound, "MANIFEST_UNKNOWN")
}

// blob answers with a blob, if the image's manifest names it and its content is right.
func (s *Store) blob(w http.ResponseWriter, r *http.Request, name string, wanted digest.Digest) {
	for _, root := range s.roots {
		image, m := s.open(root, name)
		if m == nil {
			continue
		}
		file := s.verified(w, r, image, m, wanted)
		_ = image.Close()
		if file == nil {
			continue
		}
		defer file.Close()
		blob, _ := m.Blob(wanted)
		head(w, "application/octet-stream", blob)
		http.ServeContent(w, r, "", time.Time{}, &paced{r.Context(), w, file, s.limit})
		return
	}
	refuse(w, http.StatusNotFound, "BLOB_UNKNOWN")
}

// verified opens a blob of an image; nil if there is none, or not with the right content.
func (s *Store) verified(w http.ResponseWriter, r *http.Request, image *os.Root, m *layout.Manifest, wanted digest.Digest) *os.File {
	blob, named := m.Blob(wanted)
	if !named {
		return nil
	}
	file, _, err := layout.OpenRegular(image, layout.Blob("", wanted))
	if err != nil {
		s.marks.report(image.Name(), err)
		return nil
	}
	if s.marks.verify(r.Context(), file, blob, func() { working(w) }) != nil {
		_ = file.Close()
		return nil
	}
	return file
}

// open opens an image in place; the manifest is nil if there is none of that name.
func (s *Store) open(root *os.Root, name string) (*os.Root, *layout.Manifest) {
	image, err := root.OpenRoot(name)
	if err != nil {
		return nil, nil
	}
	m, err := layout.Open(image)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) { // a folder that is not an image
			s.marks.report(image.Name(), err)
		}
		_ = image.Close()
		return nil, nil
	}
	return image, m
}
