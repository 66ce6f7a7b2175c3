// Package images says how images are named, and which failures are for good.
package images

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/opencontainers/go-digest"
)

// name is the pattern of controller/wire/names.py, which all names of machines and images match.
var name = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// IsName reports whether a text can be the name of an image.
func IsName(text string) bool { return name.MatchString(text) }

// CheckDigest returns an error unless a text is a digest of the form sha256:HEX.
func CheckDigest(text digest.Digest) error {
	if err := text.Validate(); err != nil || text.Algorithm() != digest.SHA256 {
		return fmt.Errorf("%q is not of the form sha256:HEX", text)
	}
	return nil
}

// Refused is the error of an act that fails in the same way however often it is tried.
type Refused struct{ text string }

func (r *Refused) Error() string { return r.text }

// Refuse returns a Refused with that text.
func Refuse(format string, args ...any) error { return &Refused{fmt.Sprintf(format, args...)} }

// IsRefused reports whether an error is, or wraps, a Refused.
func IsRefused(err error) bool {
	var refused *Refused
	return errors.As(err, &refused)
}
