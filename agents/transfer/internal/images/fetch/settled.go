package fetch

import (
	"fmt"
	"os"

	"github.com/opencontainers/go-digest"

	"weft/agents/transfer/internal/images"
	"weft/agents/transfer/internal/images/layout"
)

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
