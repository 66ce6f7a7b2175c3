// Package source is where an image comes from: another cloudlet's store, or a registry. Both have the read part of the OCI
// distribution API.
package source

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"weft/agents/transfer/internal/images/layout"
	"weft/agents/transfer/internal/images/oras"
)

// Silence is how long a source may give nothing.
const Silence = 15 * time.Second

// headers is how many bytes the headers of an answer may have.
const headers = 64 << 10

// Source is one place that has an image. Its methods are for one goroutine.
type Source struct {
	Name    string
	Silence time.Duration
	url     string
	do      func(*http.Request) (*http.Response, error)
}

// Cloudlet returns the store of the cloudlet `name` at host:port, as the source of an image. The configuration verifies
// that the store has this cloudlet's certificate.
func Cloudlet(name, address, image string, secure *tls.Config, multipath bool) *Source {
	dialer := &net.Dialer{Timeout: Silence}
	dialer.SetMultipathTCP(multipath)
	client := &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSClientConfig: secure, TLSHandshakeTimeout: Silence,
			DisableCompression: true, MaxResponseHeaderBytes: headers,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("it redirects, as no cloudlet does") },
	}
	return &Source{name, Silence, "https://" + address + "/v2/" + image, client.Do}
}

// Transport returns the transport to a registry.
func Transport() http.RoundTripper {
	made := http.DefaultTransport.(*http.Transport).Clone()
	made.DisableCompression, made.MaxResponseHeaderBytes = true, headers
	return made
}

// Registry returns a registry's repository as a source.
func Registry(repository *oras.Repository) *Source {
	return &Source{"registry", Silence, repository.URL(), repository.Do}
}

// Manifest returns the manifest with a digest; layout.ErrWrong if the source sends something else.
func (s *Source) Manifest(ctx context.Context, of digest.Digest) ([]byte, error) {
	answer, err := s.ask(ctx, "/manifests/"+of.String(), http.Header{"Accept": {strings.Join(layout.MediaTypes, ", ")}})
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	if answer.status != http.StatusOK {
		return nil, statusError(answer)
	}
	data, err := io.ReadAll(io.LimitReader(answer, layout.MostManifest+1))
	if err != nil {
		return nil, err
	}
	if len(data) > layout.MostManifest {
		return nil, fmt.Errorf("its manifest has more than %d bytes", layout.MostManifest)
	}
	if digest.FromBytes(data) != of {
		return nil, fmt.Errorf("manifest %s: %w", of, layout.ErrWrong)
	}
	return data, nil
}

// Blob returns a blob's content from an offset on, or from its beginning if the source cannot do that, and the offset.
func (s *Source) Blob(ctx context.Context, blob ocispec.Descriptor, offset int64) (io.ReadCloser, int64, error) {
	header := http.Header{}
	if offset > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	answer, err := s.ask(ctx, "/blobs/"+blob.Digest.String(), header)
	if err != nil {
		return nil, 0, err
	}
	switch {
	case answer.status == http.StatusOK:
		offset = 0
	case answer.status != http.StatusPartialContent:
		err = statusError(answer)
	case !strings.HasPrefix(answer.header.Get("Content-Range"), fmt.Sprintf("bytes %d-", offset)):
		err = fmt.Errorf("it sends the range %q from %d on", answer.header.Get("Content-Range"), offset)
	}
	if err == nil && answer.length >= 0 && offset+answer.length != blob.Size {
		err = &ofBlob{fmt.Errorf("it would send %d bytes in place of %d", offset+answer.length, blob.Size)}
	}
	if err != nil {
		_ = answer.Close()
		return nil, 0, err
	}
	return answer, offset, nil
}

func statusError(a *answer) error {
	err := fmt.Errorf("it answers %d %s", a.status, http.StatusText(a.status))
	if a.status == http.StatusNotFound {
		return &ofBlob{err}
	}
	return err
}

// ofBlob is a failure that says nothing about other blobs of the same source.
type ofBlob struct{ error }

func (o *ofBlob) Unwrap() error { return o.error }

// IsOfBlob reports whether the source of an error may still have other blobs.
func IsOfBlob(err error) bool {
	var found *ofBlob
	return errors.As(err, &found)
}

// Short returns the error of a source that has ended a blob too early.
func Short(at, size int64) error {
	return &ofBlob{fmt.Errorf("it has ended after %d of %d bytes", at, size)}
}
