package engine

import (
	"maps"
	"slices"
)

// fair shortens a list to a number of entries and keeps their order. It keeps all entries of a source that has no more than
// its share, and the last entries of the others. So a source with many entries pushes out only its own.
func fair[T any](list []T, source func(T) string, most int) []T {
	left := map[string]int{} // entries of each source
	for _, one := range list {
		left[source(one)]++
	}
	share, room, sources := 1, most, len(left) // each source keeps at least one
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
