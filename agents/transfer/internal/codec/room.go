package codec

import "sync"

// room is bytes of one kind that nobody needs any more. Batches have hundreds of kilobytes: new ones would have to be
// cleared, and grown, at nearly the cost of compressing them.
type room struct{ freed sync.Pool }

const mostRoom = MostStream // bytes of a slice that is kept, as it may serve for a short one next

var streams, operations, contents, plains, packs room

// take returns an empty slice.
func (r *room) take() []byte {
	if freed, ok := r.freed.Get().(*[]byte); ok {
		return (*freed)[:0]
	}
	return nil
}

func (r *room) free(bytes []byte) {
	if 0 < cap(bytes) && cap(bytes) <= mostRoom {
		r.freed.Put(&bytes)
	}
}

// Free says that nobody needs the bytes of Batch.Pack any more.
func Free(packed []byte) { packs.free(packed) }
