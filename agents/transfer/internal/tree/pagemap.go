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

// runs returns the runs of a file of pages at that path, in its order, and what they are memory of; none if it is no such
// file, or nothing says which.
func runs(path string) (memory string, found []run) {
	match := pagesName.FindStringSubmatch(filepath.Base(path))
	if match == nil {
		return "", nil
	}
	id, _ := strconv.ParseUint(match[1], 10, 64)
	pagemaps, _ := filepath.Glob(filepath.Join(filepath.Dir(path), pagemapGlob))
	for _, one := range pagemaps {
		info, err := os.Stat(one)
		if err != nil || info.Size() > mostPagemap {
			continue
		}
		text, err := os.ReadFile(one)
		if err != nil {
			continue
		}
		if pages, found, err := parsePagemap(text); err == nil && pages == id {
			return filepath.Base(one), found
		}
	}
	return "", nil
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
