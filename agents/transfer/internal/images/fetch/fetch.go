// Package fetch brings an image from other cloudlets or a registry, and puts it in place when all of it is there and
// verified. The parts that an ended run has left are continued.
package fetch

import (
	"context"
	"errors"
	"fmt"
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
	if settled, err := f.settled(); settled || err != nil {
		discard(o.Directory, o.Image)
		return err
	}
	if f.work, err = begin(o.Directory, o.Image); err != nil {
		return err
	}
	defer f.work.Close()
	if settled, err := f.settled(); settled || err != nil { // by a run that has just ended
		return errors.Join(err, os.RemoveAll(f.work.path))
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

// settled reports whether there is nothing to do.
func (f *fetch) settled() (bool, error) {
	m, err := f.inPlace()
	if m == nil || err != nil {
		return false, err
	}
	f.progress.total, f.progress.there = m.Bytes(), m.Bytes()
	f.progress.done()
	return true, nil
}

// inPlace returns the manifest of the image if it is in place. If something else is there, that is an error, unless it
// may be replaced.
func (f *fetch) inPlace() (*layout.Manifest, error) {
	info, err := os.Lstat(f.place)
	if os.IsNotExist(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	found, text := digest.Digest(""), "something other than an image"
	if info.IsDir() {
		root, err := os.OpenRoot(f.place)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		if found, err = layout.Digest(root); err == nil {
			text = fmt.Sprintf("another version (%s)", found)
		}
		if found == f.Digest {
			m, err := layout.Open(root)
			if err == nil {
				err = layout.Whole(root, m)
			}
			if err == nil {
				return m, nil
			}
			text = fmt.Sprintf("this version, but damaged (%v),", err)
		}
	}
	if !f.Replace {
		return nil, images.Refuse("%s is in place at %s; --replace replaces it", text, f.place)
	}
	return nil, nil
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
