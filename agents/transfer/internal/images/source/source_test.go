package source

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"weft/agents/transfer/internal/images/imagetest"
)

// of returns a source without TLS that a handler answers for.
func of(t *testing.T, handler http.HandlerFunc) *Source {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &Source{"c2", 3 * time.Second, server.URL + "/v2/web", server.Client().Do}
}

func blob(content string) ocispec.Descriptor {
	return ocispec.Descriptor{Digest: imagetest.Container([]byte(content)).Layers[0], Size: int64(len(content))}
}

func TestASourceThatWorksOnItsAnswerIsNotSilent(t *testing.T) {
	t.Parallel()
	s := of(t, func(w http.ResponseWriter, r *http.Request) {
		for range 7 { // longer than the source may be silent
			time.Sleep(500 * time.Millisecond)
			w.WriteHeader(http.StatusProcessing)
		}
		_, _ = w.Write([]byte("layer"))
	})
	body, offset, err := s.Blob(t.Context(), blob("layer"), 0)
	if err != nil || offset != 0 {
		t.Fatal(offset, err)
	}
	defer body.Close()
	if content, err := io.ReadAll(body); err != nil || string(content) != "layer" {
		t.Errorf("%q, %v", content, err)
	}
}

func TestASourceDoesNotWorkForEver(t *testing.T) {
	s := of(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			w.WriteHeader(http.StatusProcessing)
		}
	})
	if _, _, err := s.Blob(t.Context(), blob("layer"), 0); err == nil || !strings.Contains(err.Error(), "does not come to an answer") {
		t.Errorf("error %v", err)
	}
}

func TestAnotherRangeIsNotTaken(t *testing.T) {
	s := of(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Range", "bytes 2-4/5")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write([]byte("yer"))
	})
	if _, _, err := s.Blob(t.Context(), blob("layer"), 1); err == nil || !strings.Contains(err.Error(), `the range "bytes 2-4/5" from 1 on`) {
		t.Errorf("error %v", err)
	}
	if body, offset, err := s.Blob(t.Context(), blob("layer"), 2); err != nil || offset != 2 {
		t.Errorf("%v, %d, %v", body, offset, err)
	}
}

func TestAMissingBlobSaysNothingAboutOthers(t *testing.T) {
	for status, alone := range map[int]bool{404: true, 403: false, 500: false, 416: false} {
		s := of(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) })
		if _, _, err := s.Blob(t.Context(), blob("layer"), 0); err == nil || IsOfBlob(err) != alone {
			t.Errorf("%d: %v", status, err)
		}
	}
	if err := Short(1, 5); !IsOfBlob(errors.Join(err)) || err.Error() != "it has ended after 1 of 5 bytes" {
		t.Error(err)
	}
}

func TestACloudletDoesNotRedirect(t *testing.T) {
	elsewhere := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(elsewhere.Close)
	server := httptest.NewTLSServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	secure := server.Client().Transport.(*http.Transport).TLSClientConfig
	s := Cloudlet("c2", strings.TrimPrefix(server.URL, "https://"), "web", secure, true)
	if _, _, err := s.Blob(t.Context(), blob("layer"), 0); err == nil || !strings.Contains(err.Error(), "it redirects") {
		t.Errorf("error %v", err)
	}
}
