package codec

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"weft/agents/transfer/internal/stream"
)

var errDelta = errors.New("a delta that does not fit the page")

const word = 8 // bytes that are compared at once

// appendDelta appends what makes `from` into `to`: runs of words that are equal and of words that are not, by turns, the
// latter with their bytes. It gives up, and returns false, beyond `most` bytes.
func appendDelta(out, from, to []byte, most int) ([]byte, bool) {
	began := len(out)
	for at := 0; at < stream.PageSize; {
		same := at
		for same < stream.PageSize && equal(from, to, same) {
			same += word
		}
		if same == stream.PageSize {
			break
		}
		other := same
		for other < stream.PageSize && !equal(from, to, other) {
			other += word
		}
		out = binary.AppendUvarint(out, uint64((same-at)/word))
		out = binary.AppendUvarint(out, uint64((other-same)/word))
		out = append(out, to[same:other]...)
		if len(out)-began > most {
			return out[:began], false
		}
		at = other
	}
	return out, true
}

func equal(a, b []byte, at int) bool {
	return binary.LittleEndian.Uint64(a[at:]) == binary.LittleEndian.Uint64(b[at:])
}

// applyDelta changes a page by a delta.
func applyDelta(page, delta []byte) error {
	for at := 0; len(delta) > 0; {
		same, n := binary.Uvarint(delta)
		other, m := binary.Uvarint(delta[max(n, 0):])
		if n <= 0 || m <= 0 || bits.Len64(same|other) > 16 {
			return errDelta
		}
		delta = delta[n+m:]
		at += int(same) * word
		size := int(other) * word
		if at+size > len(page) || size > len(delta) {
			return errDelta
		}
		copy(page[at:], delta[:size])
		at, delta = at+size, delta[size:]
	}
	return nil
}
