package main

import (
	"bytes"
	"io"
)

// records is where the log goes, a record to a Write. slog quotes texts with anything in them that is not printable, which
// makes one line of a record whatever others have put into it; but to slog DEL is printable.
type records struct{ io.Writer }

func (r records) Write(record []byte) (int, error) {
	if _, err := r.Writer.Write(bytes.ReplaceAll(record, []byte{0x7f}, []byte(`\x7f`))); err != nil {
		return 0, err
	}
	return len(record), nil
}
