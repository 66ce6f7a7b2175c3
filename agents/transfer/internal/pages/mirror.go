// Package pages keeps guests' pages in files that are mapped into memory: the mirror of a machine, which may serve again
// when the machine comes back, and reference files that both ends have.
package pages

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/zeebo/blake3"
	"golang.org/x/sys/unix"

	"weft/agents/transfer/internal/codec"
	"weft/agents/transfer/internal/stream"
	"weft/routeserver/durable"
)

// Mirror is the file of one machine's mirror. It is the guest's memory or disk: nobody but its owner may read it. Beside
// it, in a file with the suffix .kept, stands what it was when the machine moved; without that file it counts as empty.
type Mirror struct {
	path   string
	file   *os.File
	size   int64
	mapped [][]byte
}

// keptMirror is the contents of the .kept file.
type keptMirror struct {
	Format int         `json:"format"`
	Blocks []keptBlock `json:"blocks"`
	Digest string      `json:"digest"`
}

type keptBlock struct {
	Name  string `json:"name"`
	Size  uint64 `json:"size"`
	Bytes int    `json:"bytes"` // mirrored ones
	Known []byte `json:"known"` // a bit for each mirrored page, the lowest first: those that are known
}

const format = 2

// OpenMirror opens a mirror's file, or makes one.
func OpenMirror(path string) (*Mirror, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &Mirror{path: path, file: file}, nil
}

// Kept returns the digest of what the mirror was when the machine moved, and the number of its pages; empty if there is
// nothing, or nothing that can be read.
func (m *Mirror) Kept() (digest string, count int) {
	found, err := m.readKept()
	if err != nil {
		return "", 0
	}
	for _, block := range found.Blocks {
		count += block.Bytes / stream.PageSize
	}
	return found.Digest, count
}

// Memory returns the mirror with room for so many pages: as it was kept, or empty. From here on it counts as empty for
// others, until Keep.
func (m *Mirror) Memory(capacity int, asKept bool) (*codec.Memory, error) {
	found, err := m.readKept()
	if asKept && err != nil {
		return nil, err
	}
	if err := os.Remove(m.keptPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	memory := codec.NewMemory(capacity, m.allocate)
	if !asKept {
		return memory, m.file.Truncate(0)
	}
	for _, block := range found.Blocks {
		bytes, err := m.allocate(block.Bytes)
		if err != nil {
			return nil, err
		}
		known := make([]uint64, len(block.Known)/8)
		for i := range known {
			known[i] = binary.LittleEndian.Uint64(block.Known[8*i:])
		}
		region := codec.Region{Block: stream.Block{Name: block.Name, Size: block.Size}, Bytes: bytes, Known: known}
		if err := memory.Restore(region); err != nil {
			return nil, fmt.Errorf("%s: %w", m.path, err)
		}
	}
	return memory, nil
}

// allocate maps the next bytes of the file, which are zero if they are new.
func (m *Mirror) allocate(bytes int) ([]byte, error) {
	if bytes == 0 {
		return nil, nil
	}
	if info, err := m.file.Stat(); err != nil {
		return nil, err
	} else if end := m.size + int64(bytes); info.Size() < end {
		if err := m.file.Truncate(end); err != nil {
			return nil, err
		}
	}
	mapped, err := unix.Mmap(int(m.file.Fd()), m.size, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be mapped: %w", m.path, err)
	}
	m.size += int64(bytes)
	m.mapped = append(m.mapped, mapped)
	return mapped, nil
}

// Keep writes down what the mirror is now, so that it serves when the machine comes back.
func (m *Mirror) Keep(memory *codec.Memory) error {
	now, hash := keptMirror{Format: format}, blake3.New()
	for _, region := range memory.Regions() {
		block := keptBlock{region.Block.Name, region.Block.Size, len(region.Bytes), nil}
		for _, word := range region.Known {
			block.Known = binary.LittleEndian.AppendUint64(block.Known, word)
		}
		now.Blocks = append(now.Blocks, block)
		_, _ = fmt.Fprintf(hash, "%q %d %d\n%s", block.Name, block.Size, block.Bytes, block.Known) // never fails
		for n := range len(region.Bytes) / stream.PageSize {
			if region.Known[n/64]&(1<<(n%64)) != 0 { // others are holes of the file
				_, _ = hash.Write(region.Bytes[n*stream.PageSize : (n+1)*stream.PageSize])
			}
		}
	}
	now.Digest = hex.EncodeToString(hash.Sum(nil))
	for _, mapped := range m.mapped {
		if err := unix.Msync(mapped, unix.MS_SYNC); err != nil {
			return err
		}
	}
	text, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return durable.Replace(m.keptPath(), text, 0o600)
}

// Close unmaps the mirror.
func (m *Mirror) Close() error {
	var wrong error
	for _, mapped := range m.mapped {
		wrong = errors.Join(wrong, unix.Munmap(mapped))
	}
	m.mapped = nil
	return errors.Join(wrong, m.file.Close())
}

func (m *Mirror) keptPath() string { return m.path + ".kept" }

func (m *Mirror) readKept() (keptMirror, error) {
	text, err := os.ReadFile(m.keptPath())
	if err != nil {
		return keptMirror{}, err
	}
	var found keptMirror
	if err := json.Unmarshal(text, &found); err != nil {
		return keptMirror{}, fmt.Errorf("%s: %w", m.keptPath(), err)
	}
	info, err := m.file.Stat()
	if err != nil {
		return keptMirror{}, err
	}
	left := info.Size()
	for _, block := range found.Blocks {
		words := (block.Bytes/stream.PageSize + 63) / 64
		if block.Bytes < 0 || int64(block.Bytes) > left || block.Bytes%stream.PageSize != 0 || len(block.Known) != 8*words {
			return keptMirror{}, fmt.Errorf("%s names more pages than %s has", m.keptPath(), m.path)
		}
		left -= int64(block.Bytes)
	}
	if found.Format != format || found.Digest == "" {
		return keptMirror{}, fmt.Errorf("%s is of another format", m.keptPath())
	}
	return found, nil
}
