package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"weft/agents/transfer/internal/images/layout"
	"weft/agents/transfer/internal/images/oras"
	"weft/agents/transfer/internal/images/source"
)

const pushPurpose = `copies an image to a registry, and prints HOST/REPOSITORY@DIGEST.`

func pushImage(ctx context.Context, args []string, output io.Writer) error {
	f := flags("push")
	folder := f.String("directory", "", "`folder` of the image, an OCI image layout")
	registry := f.String("registry", "", "`host[:port]/repository[:tag]` of a registry, with TLS")
	plain := f.Bool("plain-http", false, "reach the registry without TLS")
	credentials := f.String("credentials", "", "`file` with the credentials for the registry, as docker's config.json")
	if err := parse(f, args, pushPurpose, output, false, "directory", "registry"); err != nil {
		return err
	}
	repository, err := oras.NewRepository(*registry, *credentials, *plain, source.Transport())
	if err != nil {
		return &usageError{err}
	}
	image, err := os.OpenRoot(*folder)
	if err != nil {
		return err
	}
	defer image.Close()
	m, err := layout.Open(image)
	if err == nil {
		err = layout.Whole(image, m)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", *folder, err)
	}
	if err := repository.Push(ctx, *folder, m.Descriptor); err != nil {
		return fmt.Errorf("%s: %w", repository.Name(), err)
	}
	fmt.Fprintf(output, "%s@%s\n", repository.Name(), m.Descriptor.Digest)
	return nil
}
