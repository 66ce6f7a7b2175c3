package codec

import (
	"fmt"
	"strings"
)

// Techniques are ways of saying a page in fewer bytes, as a set.
type Techniques uint8

// The techniques. Each can be left out, so that a benchmark shows what it is worth.
const (
	Known       Techniques = 1 << iota // a copy of a page that the other end has elsewhere
	Deltas                             // what differs from the page before, also if that is nothing
	Compression                        // zstd
)

var techniques = map[string]Techniques{"known": Known, "deltas": Deltas, "compression": Compression}

// ParseTechniques reads names with commas between them.
func ParseTechniques(text string) (Techniques, error) {
	var found Techniques
	for name := range strings.SplitSeq(text, ",") {
		one, ok := techniques[name]
		if !ok {
			return 0, fmt.Errorf("%.40q is not known, deltas or compression", name)
		}
		found |= one
	}
	return found, nil
}

// Has reports whether a technique is in the set.
func (t Techniques) Has(one Techniques) bool { return t&one != 0 }
