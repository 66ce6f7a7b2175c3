package pages

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"

	"weft/agents/transfer/internal/codec"
	"weft/agents/transfer/internal/stream"
)

// StoreBase writes the distinct pages of a machine's memory, without the one that is all zero, to a file, which serves as
// a reference for machines of the same image. It returns their number. The stream is one of a stopped machine, to its
// end; the file is whole or not there.
func StoreBase(in io.Reader, path string) (pages int, err error) {
	fresh, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".")
	if err != nil {
		return 0, err
	}
	defer os.Remove(fresh.Name()) // it has the other name then, if all went well
	out, reader := bufio.NewWriterSize(fresh, 1<<20), stream.NewReader(in)
	seen := map[uint64]bool{codec.Hash(make([]byte, stream.PageSize)): true}
	for {
		record, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
		if record.Kind != stream.Page || seen[codec.Hash(record.Bytes)] {
			continue
		}
		seen[codec.Hash(record.Bytes)] = true
		pages++
		if _, err := out.Write(record.Bytes); err != nil {
			return 0, err
		}
	}
	if pages == 0 {
		return 0, errors.New("the stream has no page of memory: is it QEMU's, without multifd and xbzrle?")
	}
	if err := errors.Join(out.Flush(), fresh.Chmod(0o644), fresh.Sync(), fresh.Close()); err != nil {
		return 0, err
	}
	return pages, os.Rename(fresh.Name(), path)
}
