package ruleset

import (
	"hash/maphash"
	"iter"
	"maps"
)

// shards is the number of parts of an index: a change copies this many pointers, and the parts that it writes to.
const shards = 128

var seed = maphash.MakeSeed()

// index is a map that is cheap to copy and to compare with its copies, since they share the parts that are the same. The
// original must not be written to after it was copied.
type index[K comparable, V any] struct {
	parts [shards]*map[K]V
	own   [shards]bool // made after this copy
}

func part[K comparable](k K) uint64 { return maphash.Comparable(seed, k) % shards }

// look returns the value, or the zero value if there is none.
func (x *index[K, V]) look(k K) V {
	v, _ := x.find(k)
	return v
}

func (x *index[K, V]) find(k K) (v V, there bool) {
	if m := x.parts[part(k)]; m != nil {
		v, there = (*m)[k]
	}
	return v, there
}

func (x *index[K, V]) put(k K, v V) { x.mine(part(k))[k] = v }

func (x *index[K, V]) remove(k K) {
	if _, there := x.find(k); there {
		delete(x.mine(part(k)), k)
	}
}

// mine returns a part that may be written to.
func (x *index[K, V]) mine(i uint64) map[K]V {
	if !x.own[i] {
		m := map[K]V{}
		if x.parts[i] != nil {
			m = maps.Clone(*x.parts[i])
		}
		x.parts[i], x.own[i] = &m, true
	}
	return *x.parts[i]
}

// copied returns the index for a set that is about to be changed.
func (x *index[K, V]) copied() index[K, V] { return index[K, V]{parts: x.parts} }

// keys returns all keys, in no order.
func (x *index[K, V]) keys() iter.Seq[K] { return x.unlike(&index[K, V]{}) }

// unlike returns the keys of the parts that another index does not share. They include all keys that the other one lacks or
// has with another value.
func (x *index[K, V]) unlike(y *index[K, V]) iter.Seq[K] {
	return func(yield func(K) bool) {
		for i, m := range x.parts {
			if m == nil || m == y.parts[i] {
				continue
			}
			for k := range *m {
				if !yield(k) {
					return
				}
			}
		}
	}
}

// either returns the keys that may differ between two indexes, some of them twice.
func either[K comparable, V any](x, y *index[K, V]) iter.Seq[K] {
	return func(yield func(K) bool) {
		for k := range x.unlike(y) {
			if !yield(k) {
				return
			}
		}
		for k := range y.unlike(x) {
			if !yield(k) {
				return
			}
		}
	}
}
