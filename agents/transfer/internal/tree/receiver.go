package tree

import (
	"archive/tar"
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Receiver unpacks rounds below a directory. It does not trust the other end: nothing outside of the trees is read or
// written, also by way of symbolic links.
type Receiver struct {
	root   *os.Root
	known  []string
	round  int
	places string
}

// NewReceiver returns a receiver of the trees `known`, which it makes below `root`.
func NewReceiver(root string, known []string) (*Receiver, error) {
	opened, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	return &Receiver{root: opened, known: known}, nil
}

// Places returns where files' pages are in the mirror, as the other end has told in the last round (NewSender); empty if
// it has not. To be called when Run has returned.
func (r *Receiver) Places() string { return r.places }

// Close closes the directory.
func (r *Receiver) Close() error { return r.root.Close() }

// Run unpacks rounds until there are no more, and answers each one with what is Taken, in a line.
func (r *Receiver) Run(conn io.ReadWriter) error {
	in := bufio.NewReaderSize(conn, 1<<18)
	for {
		if _, err := in.Peek(1); errors.Is(err, io.EOF) {
			return nil
		}
		if err := r.unpack(in); err != nil {
			return fmt.Errorf("round %d: %w", r.round+1, err)
		}
		r.round++
		answer, err := json.Marshal(Taken{r.round})
		if err != nil {
			return err
		}
		if _, err := conn.Write(append(answer, '\n')); err != nil {
			return err
		}
	}
}

// mostEntries is how many files a round may have: the receiver remembers their names.
const mostEntries = 1 << 22

// round is one archive that is being unpacked.
type round struct {
	*Receiver
	order       Order
	trees       map[string]*os.Root // those that the archive has begun
	named       map[string]bool     // what the archive names
	directories []place             // they get their times when all else is done
}

// place is where an entry goes: below its tree's own root, so that no link leads out of the tree.
type place struct {
	root *os.Root
	name string
	head *tar.Header
}

func (r *Receiver) unpack(in io.Reader) error {
	archive := tar.NewReader(in)
	first, err := archive.Next()
	if err != nil {
		return noEnd(err)
	}
	if first.Typeflag != tar.TypeXGlobalHeader {
		return errors.New("an archive without a head")
	}
	now := &round{Receiver: r, named: map[string]bool{}, trees: map[string]*os.Root{}}
	defer now.close()
	now.order = Order{Trees: strings.Fields(first.PAXRecords[treesRecord]), Last: first.PAXRecords[lastRecord] == yes}
	if err := now.order.check(r.known); err != nil {
		return err
	}
	if err := r.root.Remove(Complete); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for {
		h, err := archive.Next()
		if err != nil {
			return noEnd(err)
		}
		if h.Typeflag == tar.TypeXGlobalHeader && h.PAXRecords[endRecord] == yes {
			r.places = h.PAXRecords[placesRecord]
			break
		}
		if len(now.named) == mostEntries {
			return fmt.Errorf("more than %d entries", mostEntries)
		}
		if err := now.entry(h, archive); err != nil {
			return fmt.Errorf("%.200q: %w", h.Name, err)
		}
	}
	if _, err := archive.Next(); !errors.Is(err, io.EOF) {
		return errors.Join(errors.New("an archive that goes on after its end"), err)
	}
	return now.finish()
}

func (r *round) close() {
	for _, tree := range r.trees {
		_ = tree.Close()
	}
}

// noEnd is an error of an archive that ends too early, which is not the end of the rounds.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// entry makes what a header describes.
func (r *round) entry(h *tar.Header, content io.Reader) error {
	at, err := r.place(h)
	if err != nil {
		return err
	}
	r.named[path.Clean(h.Name)] = true
	if err := at.clear(); err != nil {
		return err
	}
	if h.Typeflag == tar.TypeLink {
		return r.link(at)
	}
	if err := at.create(content); err != nil {
		return err
	}
	if h.Typeflag == tar.TypeDir {
		r.directories = append(r.directories, at)
		return nil
	}
	return at.describe()
}

// place returns where an entry goes. A tree begins with its own directory.
func (r *round) place(h *tar.Header) (place, error) {
	tree, name, below := strings.Cut(path.Clean(h.Name), "/")
	if !slices.Contains(r.order.Trees, tree) {
		return place{}, errors.New("it is in none of the round's trees")
	}
	if root, begun := r.trees[tree]; begun && below {
		return place{root, name, h}, nil
	}
	if below || r.trees[tree] != nil || h.Typeflag != tar.TypeDir {
		return place{}, errors.New("a tree begins with its directory")
	}
	at := place{r.root, tree, h}
	err := errors.Join(at.clear(), at.create(nil))
	if err == nil {
		r.trees[tree], err = r.root.OpenRoot(tree)
	}
	return at, err
}

// link makes a second name of a file of the same tree.
func (r *round) link(at place) error {
	tree, _, _ := strings.Cut(path.Clean(at.head.Name), "/")
	first := path.Clean(at.head.Linkname)
	name, same := strings.CutPrefix(first, tree+"/")
	if !same || !r.named[first] {
		return fmt.Errorf("a link to %.200q, which the archive does not have", at.head.Linkname)
	}
	return at.root.Link(name, at.name)
}

// finish removes what the archive does not name, completes directories, and says so after the last round.
func (r *round) finish() error {
	for _, name := range r.order.Trees {
		tree, sent := r.trees[name]
		if !sent { // the source has no such tree
			if err := r.root.RemoveAll(name); err != nil {
				return err
			}
			continue
		}
		if err := r.sweep(tree, name, "."); err != nil {
			return err
		}
	}
	for n := len(r.directories) - 1; n >= 0; n-- {
		if err := r.directories[n].describe(); err != nil {
			return err
		}
	}
	if !r.order.Last {
		return nil
	}
	return r.root.WriteFile(Complete, nil, 0o600)
}

// sweep removes what is in a directory of a tree, or deeper, and was not named. A name need not be UTF-8, as io/fs wants.
func (r *round) sweep(tree *os.Root, prefix, name string) error {
	directory, err := tree.Open(name)
	if err != nil {
		return err
	}
	entries, err := directory.ReadDir(-1)
	if err := errors.Join(err, directory.Close()); err != nil {
		return err
	}
	for _, entry := range entries {
		at := path.Join(name, entry.Name())
		switch {
		case !r.named[path.Join(prefix, at)]:
			err = tree.RemoveAll(at)
		case entry.IsDir():
			err = r.sweep(tree, prefix, at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
