package stream

import (
	"bufio"
	"errors"
	"io"
)

// splitter is what the readers of all kinds of streams have in common: they go from state to state, each of which gives
// a record, and at the first thing that they do not understand all the rest is opaque.
type splitter struct {
	in     *bufio.Reader
	state  func() (Record, error) // nil: the rest is opaque
	blocks []Block
	done   int // bytes of the record before, which are still in the buffer
}

const room = 1 << 16 // bytes that a reader keeps: more would delay a stopped guest; the set-up of RAM fits

var errUnknown = errors.New("not understood")

func newSplitter(in io.Reader) splitter { return splitter{in: bufio.NewReaderSize(in, room)} }

// Blocks returns the blocks that the stream has announced so far.
func (s *splitter) Blocks() []Block { return s.blocks }

// Understood reports whether pages can still be told apart.
func (s *splitter) Understood() bool { return s.state != nil }

// Next returns the next record, whose bytes are valid until the next call, and io.EOF after the last one. A stream that
// ends within a record ends with opaque bytes.
func (s *splitter) Next() (Record, error) {
	if _, err := s.in.Discard(s.done); err != nil {
		return Record{}, err
	}
	s.done = 0
	if s.state != nil {
		record, err := s.state()
		if err == nil {
			return record, nil
		}
		if !errors.Is(err, errUnknown) && !errors.Is(err, io.EOF) {
			return Record{}, err
		}
		s.state = nil
	}
	if _, err := s.in.Peek(1); err != nil {
		return Record{}, err
	}
	return s.opaque(s.in.Buffered())
}

// opaque returns the next n bytes as they came.
func (s *splitter) opaque(n int) (Record, error) {
	bytes, err := s.in.Peek(n)
	if err != nil {
		return Record{}, err
	}
	s.done = n
	return Record{Kind: Opaque, Bytes: bytes}, nil
}
