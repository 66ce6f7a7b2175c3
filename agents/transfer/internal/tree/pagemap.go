package tree

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"weft/agents/transfer/internal/stream"
)

// Images of CRIU (https://criu.org/Images): pages-N.img has the pages of a process's memory one after the other, and the
// pagemap whose head names N says of which addresses. From round to round pages are added in the middle, so that a page's
// place in the file says little, and its address says which page it was before.
var (
	pagesName   = regexp.MustCompile(`^pages-([0-9]{1,9})\.img$`)
	pagemapGlob = "pagemap-*.img"
)

const (
	commonMagic  = 0x54564319
	pagemapMagic = 0x56084025
	mostPagemap  = 64 << 20 // bytes

	// fields of pagemap_head and pagemap_entry
	headPages        = 1
	entryAddress     = 1
	entryOldCount    = 2
	entryOfParent    = 3
	entryFlags       = 4
	entryCount       = 5
	flagPresent      = 1 << 2
	chunkPages       = 512 // a place is made for so many pages of memory at once
	mostPagesInEntry = 1 << 32
)

var errPagemap = errors.New("a pagemap of CRIU that cannot be read")

// run is pages of memory with addresses one after the other. The address counts pages.
type run struct{ address, count uint64 }

// memory is the memory of a process: its pagemap's name, and the runs of its pages, in their order.
type memory struct {
	name string
	runs []run
}

// pagemaps returns the memory that a folder's pagemaps describe, by the numbers of the files with its pages.
func pagemaps(folder string) map[uint64]memory {
	found := map[uint64]memory{}
	paths, _ := filepath.Glob(filepath.Join(folder, pagemapGlob))
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || info.Size() > mostPagemap {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if pages, runs, err := parsePagemap(text); err == nil {
			found[pages] = memory{filepath.Base(path), runs}
		}
	}
	return found
}

// memory returns the memory of which a file has the pages; false if it is no such file, or nothing says which. The
// pagemaps of a folder are read once in a round: there is one for each process.
func (s *Sender) memory(path string) (memory, bool) {
	match := pagesName.FindStringSubmatch(filepath.Base(path))
	if match == nil {
		return memory{}, false
	}
	folder := filepath.Dir(path)
	if s.maps[folder] == nil {
		s.maps[folder] = pagemaps(folder)
	}
	id, _ := strconv.ParseUint(match[1], 10, 64)
	found, known := s.maps[folder][id]
	return found, known
}

// parsePagemap returns the number of the file of pages, and the runs that it has.
func parsePagemap(text []byte) (pages uint64, found []run, err error) {
	le := binary.LittleEndian
	if len(text) < 8 || le.Uint32(text) != commonMagic || le.Uint32(text[4:]) != pagemapMagic {
		return 0, nil, errPagemap
	}
	text = text[8:]
	for first := true; len(text) > 0; first = false {
		if len(text) < 4 || uint64(len(text)-4) < uint64(le.Uint32(text)) {
			return 0, nil, errPagemap
		}
		size := 4 + int(le.Uint32(text))
		fields, err := numbers(text[4:size])
		if err != nil {
			return 0, nil, err
		}
		text = text[size:]
		if first {
			pages = fields[headPages]
			continue
		}
		count, flags, flagged := fields[entryCount], fields[entryFlags], false
		if count == 0 {
			count = fields[entryOldCount]
		}
		_, flagged = fields[entryFlags]
		if flagged && flags&flagPresent == 0 || fields[entryOfParent] != 0 {
			continue // its pages are elsewhere
		}
		if count > mostPagesInEntry {
			return 0, nil, errPagemap
		}
		found = append(found, run{fields[entryAddress] / stream.PageSize, count})
	}
	return pages, found, nil
}

// numbers returns the fields of a message that are numbers.
func numbers(message []byte) (map[protowire.Number]uint64, error) {
	found := map[protowire.Number]uint64{}
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, errPagemap
		}
		message = message[n:]
		if kind == protowire.VarintType {
			value, n := protowire.ConsumeVarint(message)
			if n < 0 {
				return nil, errPagemap
			}
			found[number], message = value, message[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return nil, errPagemap
		}
		message = message[n:]
	}
	return found, nil
}
