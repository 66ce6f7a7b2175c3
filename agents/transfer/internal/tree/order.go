// Package tree carries directory trees from end to end in rounds, such as the files and the memory of a container. A round
// is a tar archive. It has the content of each file that may have changed since the round before, and names the others.
package tree

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Order is the agent's order to send a round of these trees. The last round makes the machine whole at the other end.
type Order struct {
	Trees []string `json:"trees"`
	Last  bool     `json:"last"`
}

// Taken is the other end's answer to a round: how many have been unpacked.
type Taken struct {
	Round int `json:"round"`
}

// Records of an archive's global header, and of its files.
const (
	treesRecord = "WEFT.trees"
	lastRecord  = "WEFT.last"
	keptRecord  = "WEFT.kept" // the file's content is that of the round before
	endRecord   = "WEFT.end"  // the archive is whole: one that is cut between two entries looks like it
	// placesRecord tells after the last round where files' pages are in the mirror, for the way back.
	placesRecord = "WEFT.places"
	yes          = "1"
)

// Complete is the name of the file that says that the last round has been unpacked.
const Complete = "complete"

// ParseOrder reads an order. Trees that are not among `known` are refused.
func ParseOrder(line []byte, known []string) (Order, error) {
	var order Order
	if err := json.Unmarshal(line, &order); err != nil {
		return order, fmt.Errorf("an order that cannot be read: %w", err)
	}
	return order, order.check(known)
}

func (o Order) check(known []string) error {
	if len(o.Trees) == 0 {
		return fmt.Errorf("an order without trees")
	}
	for n, name := range o.Trees {
		if !slices.Contains(known, name) || slices.Contains(o.Trees[:n], name) {
			return fmt.Errorf("tree %.100q is not one of %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}
