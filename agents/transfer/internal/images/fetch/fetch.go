// Package fetch brings an image from other cloudlets or a registry, and puts it in place when all of it is there and
// verified. The parts that an ended run has left are continued.
package fetch

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	"golang.org/x/time/rate"

	"weft/agents/transfer/internal/images"
	"weft/agents/transfer/internal/images/layout"
	"weft/agents/transfer/internal/images/source"
)

// Options say which image is fetched, from where, and to where.
type Options struct {
	Image     string
	Digest    digest.Digest // of the manifest
	Directory string        // which gets the image's folder
	Sources   []*source.Source
	Bandwidth int64 // bits per second; 0: no limit
	Most      int64 // bytes that may come; negative: no limit
	Replace   bool  // whatever else is in the image's place

	Output io.Writer // for the progress
	Warn   func(format string, args ...any)
}

// fetch is one run.
type fetch struct {
	Options
	place    string
	work     *work
	out      map[*source.Source]error // sources that are left out, and why
	limit    *rate.Limiter
	progress *progress
}

// Run fetches an image. With an error that is not images.Refused, the next run continues.
func Run(ctx context.Context, o Options) (err error) {
	f := &fetch{
		Options: o, place: filepath.Join(o.Directory, o.Image), out: map[*source.Source]error{},
		limit: images.Bandwidth(o.Bandwidth), progress: newProgress(o.Output),
	}
	if err := os.MkdirAll(o.Directory, 0o755); err != nil {
		return err
	}
	if settled, err := f.settled(); err != nil {
		return err
	} else if settled {
		discard(o.Directory, o.Image)
		return nil
	}
	if f.work, err = begin(o.Directory, o.Image); err != nil {
		return err
	}
	defer f.work.Close()
	if settled, err := f.settled(); err != nil {
		return err
	} else if settled { // by a run that has just ended
		return os.RemoveAll(f.work.path)
	}
	m, err := f.manifest(ctx)
	if images.IsRefused(err) {
		return errors.Join(err, os.RemoveAll(f.work.path))
	}
	if err != nil {
		return err
	}
	if err := f.work.keep(m); err != nil {
		return err
	}
	if err := f.blobs(ctx, m); err != nil {
		return err
	}
	if err := f.work.finish(m); err != nil {
		return err
	}
	if err := layout.Place(f.work.path, f.place, o.Replace); err != nil {
		return err
	}
	f.progress.done()
	return nil
}

// blobs brings all blobs of a manifest.
func (f *fetch) blobs(ctx context.Context, m *layout.Manifest) error {
	f.progress.total = m.Bytes()
	var missing needs
	for _, blob := range m.Blobs {
		there, err := f.have(ctx, blob)
		if err != nil {
			return err
		}
		if there {
			f.progress.there += blob.Size
			continue
		}
		missing.add(blob, f.work.begun(blob))
	}
	if err := missing.check(f.work.path, f.Most); err != nil {
		return err
	}
	for _, blob := range missing.blobs {
		if err := f.bring(ctx, blob); err != nil {
			return err
		}
	}
	return nil
}
