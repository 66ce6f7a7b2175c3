package engine

import (
	"maps"
	"slices"
)

// fair leaves so many of a list, in its order: all of every source that has no more than its share, and the last of the
// others. What one source does, however often, costs only its own history.
func fair[T any](list []T, source func(T) string, most int) []T {
	left := map[string]int{} // of each source
	for _, one := range list {
		left[source(one)]++
	}
	share, room, sources := 1, most, len(left) // at least one each
	for _, n := range slices.Sorted(maps.Values(left)) {
		share = max(share, room/sources)
		room, sources = room-min(n, share), sources-1
	}
	kept := make([]T, 0, 2*most)
	for _, one := range list {
		from := source(one)
		if left[from]--; left[from] < share {
			kept = append(kept, one)
		}
	}
	return kept
}
