package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"weft/agents/transfer/internal/images"
	"weft/agents/transfer/internal/images/layout"
	"weft/agents/transfer/internal/images/source"
)

// manifest returns the image's manifest, from the first source that has it.
func (f *fetch) manifest(ctx context.Context) (*layout.Manifest, error) {
	data := f.local()
	if data == nil {
		err := f.each(ctx, "the manifest", func(s *source.Source) (err error) {
			data, err = s.Manifest(ctx, f.Digest)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return layout.Parse(data)
}

// bring brings one blob.
func (f *fetch) bring(ctx context.Context, blob ocispec.Descriptor) error {
	p, err := openPart(ctx, f.work, blob)
	if err != nil {
		return err
	}
	defer p.Close()
	f.progress.part = p.at
	err = f.each(ctx, "blob "+blob.Digest.String(), func(s *source.Source) error {
		err := f.attempt(ctx, s, p)
		if !errors.Is(err, layout.ErrWrong) {
			return err
		}
		mixed := p.mixed(s.Name)
		if err := p.restart(); err != nil {
			return err
		}
		if mixed { // somebody else's bytes may be the wrong ones
			if err = f.attempt(ctx, s, p); errors.Is(err, layout.ErrWrong) {
				return errors.Join(err, p.restart())
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	f.progress.there, f.progress.part = f.progress.there+blob.Size, 0
	return p.complete(layout.Blob(f.work.path, blob.Digest))
}

// attempt brings what a part lacks from one source, and verifies the whole.
func (f *fetch) attempt(ctx context.Context, s *source.Source, p *part) error {
	if p.at < p.blob.Size {
		body, offset, err := s.Blob(ctx, p.blob, p.at)
		if err != nil {
			return err
		}
		defer body.Close()
		if offset < p.at {
			if err := p.restart(); err != nil {
				return err
			}
		}
		if err := f.copy(ctx, s, p, body); err != nil {
			return err
		}
	}
	if !p.verified() {
		return fmt.Errorf("blob %s: %w", p.blob.Digest, layout.ErrWrong)
	}
	return nil
}

// copy adds a source's bytes to a part until it has its size.
func (f *fetch) copy(ctx context.Context, s *source.Source, p *part, body io.Reader) error {
	buffer := make([]byte, f.limit.Burst())
	f.progress.source = s.Name
	for p.at < p.blob.Size {
		n, err := body.Read(buffer[:min(int64(len(buffer)), p.blob.Size-p.at)])
		if n > 0 {
			if err := p.add(buffer[:n], s.Name); err != nil {
				return err
			}
			f.progress.came(n, p.at)
			if err := f.limit.WaitN(ctx, n); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) && p.at < p.blob.Size {
			return source.Short(p.at, p.blob.Size)
		} else if err != nil && p.at < p.blob.Size {
			return err
		}
	}
	return nil
}

// each tries sources in their order until one succeeds. A source that fails is left out for the rest of the run, unless
// that is a matter of this blob alone.
func (f *fetch) each(ctx context.Context, wanted string, try func(*source.Source) error) error {
	var reasons []string
	for _, s := range f.Sources {
		err := f.out[s]
		if err == nil {
			err = try(s)
			var own *local
			switch {
			case err == nil:
				return nil
			case ctx.Err() != nil:
				return ctx.Err()
			case errors.As(err, &own), images.IsRefused(err):
				return err
			case errors.Is(err, layout.ErrWrong):
				f.Warn("%s is left out: %v", s.Name, err)
				f.out[s] = err
			case !source.IsOfBlob(err):
				f.out[s] = err
			}
		}
		reasons = append(reasons, s.Name+": "+err.Error())
	}
	return fmt.Errorf("no source gives %s: %s", wanted, strings.Join(reasons, "; "))
}
