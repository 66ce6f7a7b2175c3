package codec

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zeebo/blake3"

	"weft/agents/transfer/internal/stream"
)

// ErrDigest says that a batch gives other bytes than the encoder's: the ends differ in what they know.
var ErrDigest = errors.New("the batch gives other bytes than were sent")

// Decoder makes the stream's bytes of batches.
type Decoder struct {
	memory  *Memory
	sources []Pages
	scratch [stream.PageSize]byte // a page that is not mirrored
	plain   []byte                // of the batch before
	out     []byte
}

// NewDecoder returns a decoder with that mirror. `references` are those of the encoder.
func NewDecoder(memory *Memory, references ...Pages) *Decoder {
	return &Decoder{memory: memory, sources: append([]Pages{memory}, references...)}
}

// Decode returns the bytes of the stream that a batch stands for, valid until the next call, and its operations. Raises
// ErrDigest if they are not the encoder's. The mirror may be wrong then, until the same batch has come again alone
// (Batch.Alone).
func (d *Decoder) Decode(packed []byte) ([]byte, Counts, error) {
	in, counts := &input{bytes: packed}, Counts{}
	level := in.take(1)[0]
	size, code, literals := in.number(MostStream), in.number(mostCode), in.number(2*MostStream)
	digest := in.take(digestSize)
	if in.err != nil {
		return nil, counts, in.err
	}
	plain := in.bytes
	if level != byte(Stored) {
		var err error
		if plain, err = decompress(d.plain, in.bytes, code+literals); err != nil {
			return nil, counts, fmt.Errorf("a batch that cannot be opened: %w", err)
		}
		d.plain = plain
	}
	if len(plain) != code+literals {
		return nil, counts, fmt.Errorf("a batch of %d bytes, not %d", len(plain), code+literals)
	}
	out, err := d.run(&input{bytes: plain[:code]}, &input{bytes: plain[code:]}, size, &counts)
	if err != nil {
		return nil, counts, err
	}
	d.out = out
	if sum := blake3.Sum256(out); len(out) != size || string(sum[:]) != string(digest) {
		return nil, counts, ErrDigest
	}
	return out, counts, nil
}

// run carries out operations; they give at most `size` bytes.
func (d *Decoder) run(code, literals *input, size int, counts *Counts) ([]byte, error) {
	out, last := slices.Grow(d.out[:0], size), 0
	for len(code.bytes) > 0 {
		head := code.take(1)[0]
		op := Op(head &^ flags)
		if op >= ops {
			return nil, fmt.Errorf("operation %d in a batch", op)
		}
		counts[op]++
		switch op {
		case Bytes:
			out = append(out, literals.take(code.number(size))...)
		case Block:
			name := literals.take(code.number(mostName))
			pages := code.number(mostPages)
			if code.err == nil && literals.err == nil {
				_, _, code.err = d.memory.place(stream.Block{Name: string(name), Size: uint64(pages) * stream.PageSize})
			}
		default:
			last += unzigzag(uint64(code.number(4*mostPages))) + 1
			if code.err == nil && (last < 0 || last >= d.memory.Len()) {
				code.err = fmt.Errorf("page %d of %d in a batch", last, d.memory.Len())
			}
			if code.err == nil {
				out = d.page(out, op, last, head, code, literals)
			}
		}
		if err := errors.Join(code.err, literals.err); err != nil {
			return nil, err
		}
		if len(out) > size {
			return nil, fmt.Errorf("a batch of more than %d bytes", size)
		}
	}
	return out, nil
}

// page carries out an operation about a page; `head` has its flags.
func (d *Decoder) page(out []byte, op Op, n int, head byte, code, literals *input) []byte {
	mine, kind := d.memory.Page(n), stream.Page
	mirrored := mine != nil && head&apart == 0
	if !mirrored {
		mine = d.scratch[:]
	}
	switch op {
	case Zero:
		if !mirrored || d.memory.known(n) {
			clear(mine)
		}
		kind = stream.Zero
	case Same:
	case Copy:
		d.copy(mine, code)
	case Delta:
		if err := applyDelta(mine, literals.take(code.number(stream.PageSize))); err != nil {
			code.err = err
		}
	case Literal:
		copy(mine, literals.take(stream.PageSize))
	}
	if code.err != nil || literals.err != nil {
		return out
	}
	if mirrored {
		d.memory.note(n)
	}
	b := d.memory.block(n)
	offset := uint64(n-d.memory.first[b]) * stream.PageSize
	record := stream.Record{Kind: kind, Named: head&named != 0, Bare: head&bare != 0, Offset: offset}
	if kind == stream.Page {
		record.Bytes = mine
	}
	out, code.err = record.Append(out, []stream.Block{d.memory.regions[b].Block})
	return out
}

func (d *Decoder) copy(to []byte, code *input) {
	source, n := code.number(len(d.sources)-1), code.number(mostPages)
	if code.err != nil {
		return
	}
	var from []byte
	if n < d.sources[source].Len() {
		from = d.sources[source].Page(n)
	}
	if from == nil {
		code.err = fmt.Errorf("page %d of source %d in a batch", n, source)
		return
	}
	copy(to, from)
}
