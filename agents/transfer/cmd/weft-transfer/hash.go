package main

import (
	"errors"
	"fmt"

	"weft/agents/transfer/internal/pages"
)

// hashReferences keeps the hashes of reference files' pages, so that no move waits for them.
func hashReferences(o *options) (err error) {
	for _, one := range o.references {
		found, wrong := pages.OpenReference(one.path, one.digest)
		if wrong == nil && !found.Hashed(o.hashes) {
			_, wrong = found.Hash(o.hashes)
		}
		if found != nil {
			wrong = errors.Join(wrong, found.Close())
		}
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("the pages of %s are not hashed: %w", one.path, wrong))
		}
	}
	return err
}
