package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
)

var errShort = errors.New("a batch that ends too early")

// input reads fields. After an error all are zero.
type input struct {
	bytes []byte
	err   error
}

func (i *input) take(n int) []byte {
	if i.err == nil && n > len(i.bytes) {
		i.err = errShort
	}
	if i.err != nil {
		return make([]byte, min(n, 4096))
	}
	found := i.bytes[:n]
	i.bytes = i.bytes[n:]
	return found
}

// number returns the next number, which is at most `most`.
func (i *input) number(most int) int {
	if i.err != nil {
		return 0
	}
	found, n := binary.Uvarint(i.bytes)
	if n <= 0 || found > uint64(most) {
		i.err = fmt.Errorf("a number in a batch that is not from 0 to %d", most)
		return 0
	}
	i.bytes = i.bytes[n:]
	return int(found)
}
