package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/opencontainers/go-digest"

	"weft/agents/transfer/internal/images"
	"weft/agents/transfer/internal/images/fetch"
	"weft/agents/transfer/internal/images/oras"
	"weft/agents/transfer/internal/images/source"
	"weft/routeserver/identity"
)

const fetchPurpose = `brings the image with a manifest's digest to DIRECTORY/IMAGE, from the first source that can give it.
Sources are tried in the order of the command line. It continues where an ended run has stopped. Progress is on stdout, as
lines of JSON; exit code 1: it may succeed later, 3: not without another command line.`

// origin is a source as the command line names it.
type origin struct{ cloudlet, address, registry string }

// access is how sources are reached.
type access struct {
	identity, credentials string
	plain, multipath      bool
}

func fetchImage(ctx context.Context, args []string, output io.Writer, warn warner) error {
	o := fetch.Options{Most: -1, Output: output, Warn: warn}
	var origins []origin
	var by access
	f := flags("fetch")
	f.StringVar(&o.Image, "image", "", "`name` of the image here, and at other cloudlets")
	wanted := f.String("digest", "", "`sha256:hex` of the image's manifest")
	f.StringVar(&o.Directory, "directory", "", "`folder` that has the images")
	f.Func("from", "`cloudlet=host:port` of another cloudlet's store; may be given several times", func(text string) error {
		name, address, _ := strings.Cut(text, "=")
		if !images.IsName(name) {
			return fmt.Errorf("%q is not a cloudlet's name", name)
		}
		origins = append(origins, origin{cloudlet: name, address: address})
		return place(address)
	})
	f.Func("registry", "`host[:port]/repository` of a registry, with TLS", func(text string) error {
		origins = append(origins, origin{registry: text})
		return nil
	})
	f.BoolVar(&by.plain, "plain-http", false, "reach the registry without TLS")
	f.StringVar(&by.identity, "identity", "", "`directory` with this cloudlet's key and certificate, for other cloudlets")
	f.StringVar(&by.credentials, "credentials", "", "`file` with the credentials for the registry, as docker's config.json")
	f.BoolVar(&by.multipath, "multipath", false, "MPTCP to other cloudlets, over all paths that the kernel knows")
	f.Int64Var(&o.Bandwidth, "bandwidth", 0, "`bits` per second that may come; 0: no limit")
	f.Func("most", "`bytes` that may come, without those that are here already; no limit without this option", func(text string) (err error) {
		if o.Most, err = strconv.ParseInt(text, 10, 64); err != nil || o.Most < 0 {
			return errors.New("it is not a number of bytes")
		}
		return nil
	})
	f.BoolVar(&o.Replace, "replace", false, "replace another version of the image")
	if err := parse(f, args, fetchPurpose, output, false, "image", "digest", "directory"); err != nil {
		return err
	}
	o.Digest = digest.Digest(*wanted)
	err := images.CheckDigest(o.Digest)
	switch {
	case err != nil:
	case !images.IsName(o.Image):
		err = fmt.Errorf("%q is not the name of an image", o.Image)
	case len(origins) == 0:
		err = errors.New("no source: --from or --registry is missing")
	case o.Bandwidth < 0:
		err = fmt.Errorf("--bandwidth %d is negative", o.Bandwidth)
	}
	if err != nil {
		return &usageError{err}
	}
	if o.Sources, err = sources(origins, by, o.Image); err != nil {
		return err
	}
	return fetch.Run(ctx, o)
}

// sources returns the sources of an image, in their order.
func sources(origins []origin, by access, image string) (made []*source.Source, err error) {
	for _, one := range origins {
		if one.registry != "" {
			repository, err := oras.NewRepository(one.registry, by.credentials, by.plain, source.Transport())
			if err == nil && repository.Tag() != "" {
				err = fmt.Errorf("%q has a tag or digest, in place of --digest", one.registry)
			}
			if err != nil {
				return nil, &usageError{err}
			}
			made = append(made, source.Registry(repository))
			continue
		}
		if by.identity == "" {
			return nil, &usageError{errors.New("--from needs --identity")}
		}
		secure, err := identity.New(by.identity).Peer(one.cloudlet)
		if err != nil {
			return nil, err
		}
		made = append(made, source.Cloudlet(one.cloudlet, one.address, image, secure, by.multipath))
	}
	return made, nil
}
