// Package oras is the door to oras-go: references, credentials and pushes of registries, and manifests of artefacts.
package oras

import (
	"context"
	"fmt"
	"net/http"
	"os"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/memory"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
)

// Repository is one of a registry, with the credentials for it.
type Repository struct {
	remote *remote.Repository
	client *auth.Client
}

// NewRepository returns the repository that a reference of the form HOST[:PORT]/REPOSITORY[:TAG] names. `config` is the
// path of a docker config.json; empty: no credentials. Without TLS if `plain` is set.
func NewRepository(reference, config string, plain bool, over http.RoundTripper) (*Repository, error) {
	found, err := remote.NewRepository(reference)
	if err != nil {
		return nil, fmt.Errorf("%q is not of the form HOST[:PORT]/REPOSITORY: %w", reference, err)
	}
	client := &auth.Client{Client: &http.Client{Transport: over}, Cache: auth.NewCache()}
	if config != "" {
		if _, err := os.Stat(config); err != nil { // the library takes a missing file for an empty one
			return nil, fmt.Errorf("the credentials: %w", err)
		}
		store, err := credentials.NewStore(config, credentials.StoreOptions{})
		if err != nil {
			return nil, fmt.Errorf("the credentials in %s: %w", config, err)
		}
		client.Credential = credentials.Credential(store)
	}
	found.PlainHTTP, found.Client = plain, client
	return &Repository{found, client}, nil
}

// Tag returns the tag or digest of the reference; empty if it has none.
func (r *Repository) Tag() string { return r.remote.Reference.Reference }

// Name returns HOST[:PORT]/REPOSITORY.
func (r *Repository) Name() string {
	return r.remote.Reference.Registry + "/" + r.remote.Reference.Repository
}

// URL returns the URL below which the repository has manifests and blobs.
func (r *Repository) URL() string {
	scheme := "https"
	if r.remote.PlainHTTP {
		scheme = "http"
	}
	return fmt.Sprintf("%s://%s/v2/%s", scheme, r.remote.Reference.Host(), r.remote.Reference.Repository)
}

// Do sends a request that reads from the repository, with a token where the registry wants one.
func (r *Repository) Do(request *http.Request) (*http.Response, error) {
	ctx := auth.AppendRepositoryScope(request.Context(), r.remote.Reference, auth.ActionPull)
	return r.client.Do(request.WithContext(ctx))
}

// Push copies the image with that manifest from an image layout to the repository, under the reference's tag if it has one.
func (r *Repository) Push(ctx context.Context, folder string, manifest ocispec.Descriptor) error {
	store, err := oci.NewFromFS(ctx, os.DirFS(folder))
	if err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	to := r.Tag()
	if to == "" {
		to = manifest.Digest.String()
	}
	_, err = oras.Copy(ctx, store, manifest.Digest.String(), r.remote, to, oras.DefaultCopyOptions)
	return err
}

// Artefact returns the manifest of an artefact of a type that has those layers: the same one for the same layers.
func Artefact(ctx context.Context, kind string, layers []ocispec.Descriptor) ([]byte, error) {
	made := memory.New()
	packed, err := oras.PackManifest(ctx, made, oras.PackManifestVersion1_1, kind, oras.PackManifestOptions{
		Layers: layers, ManifestAnnotations: map[string]string{ocispec.AnnotationCreated: "1970-01-01T00:00:00Z"},
	})
	if err != nil {
		return nil, err
	}
	return content.FetchAll(ctx, made, packed)
}
