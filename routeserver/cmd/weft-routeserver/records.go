package main

import (
	"bytes"
	"io"
)

// records is the log's destination, which gets one record per Write. slog quotes a text that contains unprintable
// characters, so that a record is one line whatever others put into it. slog takes DEL for printable, so records
// escapes it.
type records struct{ io.Writer }

func (r records) Write(record []byte) (int, error) {
	if _, err := r.Writer.Write(bytes.ReplaceAll(record, []byte{0x7f}, []byte(`\x7f`))); err != nil {
		return 0, err
	}
	return len(record), nil
}
