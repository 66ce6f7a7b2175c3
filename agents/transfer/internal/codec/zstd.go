package codec

import (
	"errors"
	"slices"
	"sync"

	"github.com/DataDog/zstd"
)

// zstdLevels are libzstd's levels. It takes less time than Go's own zstd at the same ratio, and leaves it to guests (`go
// test -bench Libraries`).
var zstdLevels = [levels]int{Fast: 1, Default: 3, Better: 6, Best: 15}

// contexts have the tables of compressions and decompressions that are under way.
var contexts = sync.Pool{New: func() any { return zstd.NewCtx() }}

// compress appends the compressed bytes.
func compress(to, plain []byte, level Level) ([]byte, error) {
	context := contexts.Get().(zstd.Ctx)
	defer contexts.Put(context)
	to = slices.Grow(to, zstd.CompressBound(len(plain)))
	packed, err := context.CompressLevel(to[len(to):cap(to)], plain, zstdLevels[level])
	return to[:len(to)+len(packed)], err
}

var errEmpty = errors.New("nothing is compressed")

// decompress returns the bytes that were compressed, in the room of `to`; it is an error if they do not fit into `size`.
func decompress(to, packed []byte, size int) ([]byte, error) {
	if size == 0 || len(packed) == 0 {
		return nil, errEmpty
	}
	context := contexts.Get().(zstd.Ctx)
	defer contexts.Put(context)
	to = slices.Grow(to[:0], size)[:size]
	n, err := context.DecompressInto(to, packed)
	if err != nil {
		return nil, err
	}
	return to[:n], nil
}
