package tree

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"weft/agents/transfer/internal/stream"
)

var zeroes [stream.PageSize]byte

// Sender reads orders, and gives the archives that they ask for, record by record. It implements ends.Records.
type Sender struct {
	// Tells lets the last round tell the other end where files' pages are in the mirror, which both ends keep.
	Tells bool

	in    *bufio.Reader
	root  string
	known []string

	places places
	kept   map[string]identity          // by name: files whose content the other end has
	links  map[inode]string             // of this round
	maps   map[string]map[uint64]memory // of this round, by folder
	fading bool                         // writes to files may leave no trace, so none is kept

	order   Order
	began   time.Time
	paths   []string // of this round, that are left
	archive *tar.Writer
	out     bytes.Buffer // of the archive, that no record has had yet

	file *os.File // whose content is being sent
	left int64
	page func() (uint64, bool) // the place of its next page, if there is one
	hold [stream.PageSize]byte
}

// NewSender returns a sender of trees, which are the directories `known` below `root`, by orders that come from `in`, one
// in a line. `places` are those that an earlier session had in the same mirror, by its Places; empty if there was none.
func NewSender(in io.Reader, root string, known []string, places string) *Sender {
	return &Sender{
		in: bufio.NewReader(in), root: root, known: known,
		places: parsePlaces(places), kept: map[string]identity{},
	}
}

// Places returns where files' pages are in the mirror, for a later session over the same one.
func (s *Sender) Places() string { return s.places.text() }

// Blocks returns the blocks that the stream has announced so far.
func (s *Sender) Blocks() []stream.Block { return s.places.blocks }

// Next returns the next record, whose bytes are valid until the next call, and io.EOF when no order comes any more.
func (s *Sender) Next() (stream.Record, error) {
	s.out.Reset()
	for s.out.Len() == 0 {
		if s.file != nil {
			return s.content()
		}
		if err := s.advance(); err != nil {
			return stream.Record{}, err
		}
	}
	return stream.Record{Kind: stream.Opaque, Bytes: s.out.Bytes()}, nil
}

// advance goes on with the next file, or to the next round.
func (s *Sender) advance() error {
	if s.archive == nil {
		return s.begin()
	}
	if len(s.paths) > 0 {
		path := s.paths[0]
		s.paths = s.paths[1:]
		return s.entry(path)
	}
	end := map[string]string{endRecord: yes}
	if s.order.Last && s.Tells { // the machine is paused: nothing goes that nobody keeps
		if known := s.Places(); known != "" {
			end[placesRecord] = known
		}
	}
	err := s.global(end)
	if err == nil {
		err = s.archive.Close()
	}
	s.archive = nil
	return err
}

func (s *Sender) global(records map[string]string) error {
	return s.archive.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "weft", Format: tar.FormatPAX, PAXRecords: records})
}

// begin waits for an order, and begins its round.
func (s *Sender) begin() error {
	line, err := s.in.ReadBytes('\n')
	if err != nil {
		if errors.Is(err, io.EOF) && len(line) > 0 {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	if s.order, err = ParseOrder(line, s.known); err != nil {
		return err
	}
	s.began, s.links, s.maps = time.Now(), map[inode]string{}, map[string]map[uint64]memory{}
	if !s.order.Last {
		if err := s.settle(); err != nil {
			return err
		}
	}
	for _, name := range s.order.Trees {
		if err := s.list(name); err != nil {
			return err
		}
	}
	s.archive = tar.NewWriter(&s.out)
	records := map[string]string{treesRecord: strings.Join(s.order.Trees, " ")}
	if s.order.Last {
		records[lastRecord] = yes
	}
	return s.global(records)
}

// settle has the kernel write all changes, after which a write to a mapped page is seen in its file's times.
func (s *Sender) settle() error {
	root, err := os.Open(s.root)
	if err != nil {
		return err
	}
	defer root.Close()
	var system unix.Statfs_t
	if err := unix.Fstatfs(int(root.Fd()), &system); err != nil {
		return err
	}
	s.fading = system.Type == unix.TMPFS_MAGIC // which writes nothing, so such a write is not seen
	return unix.Syncfs(int(root.Fd()))
}

// list adds a tree's paths to the round. The trees are in use: what has gone meanwhile is left out.
func (s *Sender) list(name string) error {
	return filepath.WalkDir(filepath.Join(s.root, name), func(path string, _ fs.DirEntry, err error) error {
		if err != nil && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		s.paths = append(s.paths, path)
		return err
	})
}

// entry writes the header of what is at a path, and opens it if its content goes along.
func (s *Sender) entry(path string) error {
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); errors.Is(err, unix.ENOENT) {
		return nil
	} else if err != nil {
		return &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	name, err := filepath.Rel(s.root, path)
	if err != nil {
		return err
	}
	h, err := header(path, name, &stat)
	if h == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if h.Typeflag == tar.TypeReg {
		if err := s.regular(path, h, &stat); err != nil {
			return err
		}
	}
	return s.archive.WriteHeader(h)
}

// regular decides how a file goes: as a hard link, as the other end has it, or with its content.
func (s *Sender) regular(path string, h *tar.Header, stat *unix.Stat_t) error {
	if stat.Nlink > 1 {
		at := inode{stat.Dev, stat.Ino}
		if first, seen := s.links[at]; seen {
			h.Typeflag, h.Linkname, h.Size = tar.TypeLink, first, 0
			return nil
		}
		s.links[at] = h.Name
	}
	now := identified(stat)
	if s.kept[h.Name] == now {
		h.PAXRecords[keptRecord], h.Size = yes, 0
		return nil
	}
	delete(s.kept, h.Name)
	if !s.fading && now.settled(s.began) {
		s.kept[h.Name] = now
	}
	if h.Size == 0 {
		return nil
	}
	var err error
	if s.file, err = os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0); errors.Is(err, fs.ErrNotExist) {
		s.file, h.Size = nil, 0 // it has just gone; the next round says so
		delete(s.kept, h.Name)
		return nil
	}
	s.left = h.Size
	if found, is := s.memory(path); is {
		s.page = s.places.memory(found.name, found.runs)
	} else {
		s.page = s.places.sequence(h.Name, (uint64(h.Size)+stream.PageSize-1)/stream.PageSize)
	}
	return err
}

// content returns the next page of a file, or what there is of it.
func (s *Sender) content() (stream.Record, error) {
	now := s.hold[:min(s.left, stream.PageSize)]
	n, err := io.ReadFull(s.file, now)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return stream.Record{}, err
	}
	clear(now[n:]) // it has become shorter meanwhile
	if _, err := s.archive.Write(now); err != nil {
		return stream.Record{}, err
	}
	page, has := s.page()
	if s.left -= int64(len(now)); s.left == 0 {
		err := s.file.Close()
		if s.file = nil; err != nil {
			return stream.Record{}, err
		}
	}
	if len(now) < stream.PageSize || !has {
		return stream.Record{Kind: stream.Opaque, Bytes: now}, nil
	}
	block, offset := s.places.page(page)
	record := stream.Record{Kind: stream.Page, Bytes: now, Block: block, Offset: offset, Bare: true}
	if bytes.Equal(now, zeroes[:]) {
		record.Kind, record.Bytes = stream.Zero, nil
	}
	return record, nil
}
