package tree

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weft/agents/transfer/internal/stream"
)

const long = 2 * time.Second // an age at which a file is settled

// bed is a source's folder and a destination's.
type bed struct {
	t            *testing.T
	from, to     string
	pages, zeros int // of the last round, with a place
	tells        bool
	told         string // the places that the receiver was told
}

func newBed(t *testing.T) *bed { return &bed{t: t, from: t.TempDir(), to: t.TempDir()} }

func (b *bed) write(name, content string) {
	b.t.Helper()
	path := filepath.Join(b.from, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o640); err != nil {
		b.t.Fatal(err)
	}
}

// rounds sends rounds by one sender; `between` is called before each one but the first.
func (b *bed) rounds(orders []string, between ...func()) error {
	b.t.Helper()
	ordersIn, ordersOut := io.Pipe()
	sender := NewSender(ordersIn, b.from, []string{"upper", "memory"}, "")
	sender.Tells = b.tells
	receiver, err := NewReceiver(b.to, []string{"upper", "memory"})
	if err != nil {
		b.t.Fatal(err)
	}
	defer receiver.Close()
	go func() {
		for n, order := range orders {
			if n > 0 && n <= len(between) {
				between[n-1]()
			}
			_, _ = io.WriteString(ordersOut, order+"\n")
		}
		_ = ordersOut.Close()
	}()
	var all []byte
	b.pages, b.zeros = 0, 0
	for {
		record, err := sender.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if len(all) > 0 && bytes.Contains(record.Bytes, []byte("WEFT.trees")) {
			b.pages, b.zeros = 0, 0
		}
		switch record.Kind {
		case stream.Page:
			b.pages++
		case stream.Zero:
			b.zeros++
		}
		if all, err = record.Append(all, sender.Blocks()); err != nil {
			return err
		}
	}
	var answers bytes.Buffer
	err = receiver.Run(struct {
		io.Reader
		io.Writer
	}{bytes.NewReader(all), &answers})
	b.told = receiver.Places()
	if err == nil && strings.Count(answers.String(), "\n") != len(orders) {
		b.t.Errorf("%d rounds, answers %q", len(orders), answers.String())
	}
	return err
}

// same fails unless both folders have the same below `tree`, as tar sees it.
func (b *bed) same(tree string) {
	b.t.Helper()
	var listed [2]string
	for n, folder := range []string{b.from, b.to} {
		command := exec.Command("tar", "--create", "--sort=name", "--xattrs", "--xattrs-include=*", "--numeric-owner",
			"--format=posix", "--pax-option=exthdr.name=%f,delete=atime,delete=ctime", tree)
		command.Dir = folder
		out, err := command.Output()
		if err != nil {
			b.t.Fatal(err)
		}
		reader := tar.NewReader(bytes.NewReader(out))
		for {
			h, err := reader.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				b.t.Fatal(err)
			}
			content, err := io.ReadAll(reader)
			if err != nil {
				b.t.Fatal(err)
			}
			listed[n] += fmt.Sprintf("%s %c %o %d:%d %q %d,%d %v %v %x\n", h.Name, h.Typeflag, h.Mode, h.Uid, h.Gid,
				h.Linkname, h.Devmajor, h.Devminor, h.ModTime, h.PAXRecords, sha256.Sum256(content))
		}
	}
	if listed[0] != listed[1] {
		b.t.Errorf("there is\n%.3000s\nand not\n%.3000s", listed[1], listed[0])
	}
}

const (
	both = `{"trees":["upper","memory"]}`
	last = `{"trees":["upper","memory"],"last":true}`
)

func (b *bed) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) in(name string) string { return filepath.Join(b.from, name) }

// fill makes one of each kind of thing that an upper layer may have.
func (b *bed) fill() {
	b.write("upper/etc/conf", "a setting\n")
	b.write("upper/data/big", strings.Repeat("page", 3000)+"tail")
	b.write("upper/data/empty", "")
	b.write("upper/data/\xff\xfe not UTF-8", "x")
	b.write("memory/pages-1.img", strings.Repeat("m", 8192)+strings.Repeat("\x00", 8192)+"end")
	b.must(os.Link(b.in("upper/data/big"), b.in("upper/data/link")))
	b.must(os.Symlink("/etc/passwd", b.in("upper/data/sym")))
	b.must(unix.Mknod(b.in("upper/etc/gone"), unix.S_IFCHR, 0))
	b.must(unix.Mkfifo(b.in("upper/data/fifo"), 0o600))
	b.must(os.Mkdir(b.in("upper/opaque"), 0o2750))
	b.must(unix.Setxattr(b.in("upper/opaque"), "trusted.overlay.opaque", []byte("y"), 0))
	b.must(unix.Setxattr(b.in("upper/etc/conf"), "user.note", []byte("a\x00b\xff"), 0))
	b.must(os.Chown(b.in("upper/etc/conf"), 12, 34))
	b.must(os.Chmod(b.in("upper/etc/conf"), 0o4755))
	old := time.Unix(1_000_000_000, 123_456_789)
	b.must(os.Chtimes(b.in("upper/data"), old, old))
}

func TestATreeArrivesAsItWas(t *testing.T) {
	b := newBed(t)
	b.fill()
	b.must(b.rounds([]string{last}))
	b.same("upper")
	b.same("memory")
	if _, err := os.Stat(filepath.Join(b.to, Complete)); err != nil {
		t.Error(err)
	}
}

func TestPlacesAreToldOnlyForMirrorsThatAreKept(t *testing.T) {
	for _, tells := range []bool{false, true} {
		b := newBed(t)
		b.tells = tells
		b.fill()
		b.must(b.rounds([]string{both}))
		if b.told != "" {
			t.Error("a round that is not the last one tells places")
		}
		b.must(b.rounds([]string{both, last}))
		if (b.told != "") != tells || tells && len(parsePlaces(b.told).of) == 0 {
			t.Errorf("told %d bytes", len(b.told))
		}
	}
}

func TestALaterRoundSendsWhatHasChanged(t *testing.T) {
	b := newBed(t)
	b.fill()
	time.Sleep(long)
	b.must(b.rounds([]string{both, last}, func() {
		b.write("upper/new/file", strings.Repeat("n", 4096))
		b.must(os.RemoveAll(b.in("upper/etc")))
		b.must(os.Remove(b.in("upper/data/big"))) // its other name stays
		b.must(os.Remove(b.in("upper/data/empty")))
		b.must(os.Mkdir(b.in("upper/data/empty"), 0o700)) // another kind of thing
		b.must(unix.Removexattr(b.in("upper/opaque"), "trusted.overlay.opaque"))
	}))
	b.same("upper")
	b.same("memory")
	if b.pages+b.zeros != 1+2 { // the new file, and the link's, whose other name is gone
		t.Errorf("%d pages went again", b.pages+b.zeros)
	}
}

func TestAFileThatHasJustChangedGoesAgain(t *testing.T) {
	b := newBed(t)
	b.write("upper/file", strings.Repeat("a", 4096))
	b.must(b.rounds([]string{both, last}))
	if b.pages != 1 {
		t.Error("the kernel's clock cannot have told whether it has changed since")
	}
	b.same("upper")
}

func TestWritesToAMappedFileAreSeen(t *testing.T) {
	b := newBed(t)
	b.write("upper/file", strings.Repeat("a", 8192))
	file, err := os.OpenFile(b.in("upper/file"), os.O_RDWR, 0)
	b.must(err)
	defer file.Close()
	mapped, err := unix.Mmap(int(file.Fd()), 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	b.must(err)
	defer func() { b.must(unix.Munmap(mapped)) }()
	mapped[0] = 'b' // the page is written to already, so a further write would not change the file's times
	time.Sleep(long)
	b.must(b.rounds([]string{both, both, last}, func() {}, func() { mapped[1] = 'c' }))
	b.same("upper")
}

func TestATreeThatIsNotThereIsRemoved(t *testing.T) {
	b := newBed(t)
	b.fill()
	b.must(b.rounds([]string{both}))
	b.must(os.RemoveAll(b.in("memory")))
	b.must(b.rounds([]string{both}))
	if _, err := os.Stat(filepath.Join(b.to, "memory")); !os.IsNotExist(err) {
		t.Error(err)
	}
}

func TestOrdersThatAreNotMeantAreRefused(t *testing.T) {
	for order, text := range map[string]string{
		`{"trees":["etc"]}`:             `tree "etc" is not one of upper, memory`,
		`{"trees":["../upper"]}`:        `tree "../upper" is not one of`,
		`{"trees":["upper","upper"]}`:   `tree "upper" is not one of`,
		`{"trees":[]}`:                  "without trees",
		`{"trees":"upper"}`:             "an order that cannot be read",
		`{"trees":["upper"], "last": 1`: "an order that cannot be read",
	} {
		if err := newBed(t).rounds([]string{order}); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", order, err)
		}
	}
}

// archive returns an archive with the head of a round of "upper".
func archive(entries ...*tar.Header) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	head := &tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "weft", PAXRecords: map[string]string{treesRecord: "upper"}}
	for _, h := range append([]*tar.Header{head}, entries...) {
		if err := w.WriteHeader(h); err != nil {
			panic(err)
		}
		if h.Typeflag == tar.TypeReg {
			_, _ = w.Write(make([]byte, h.Size))
		}
	}
	end := &tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "weft", PAXRecords: map[string]string{endRecord: yes}}
	if err := w.WriteHeader(end); err != nil {
		panic(err)
	}
	_ = w.Close()
	return out.Bytes()
}

func dir(name string) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o700}
}

// unpacked unpacks what a hostile source sends, and fails if something else than the trees has changed.
func unpacked(t *testing.T, sent []byte) error {
	t.Helper()
	around := t.TempDir()
	root := filepath.Join(around, "machine")
	for _, folder := range []string{"machine", "machine/upper", "other"} {
		if err := os.Mkdir(filepath.Join(around, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"secret", "machine/machine.json", "other/file"} {
		if err := os.WriteFile(filepath.Join(around, name), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	receiver, err := NewReceiver(root, []string{"upper", "memory"})
	if err != nil {
		t.Fatal(err)
	}
	defer receiver.Close()
	err = receiver.Run(struct {
		io.Reader
		io.Writer
	}{bytes.NewReader(sent), io.Discard})
	for _, name := range []string{"secret", "machine/machine.json", "other/file"} {
		var stat unix.Stat_t
		content, wrong := os.ReadFile(filepath.Join(around, name))
		if wrong = errors.Join(wrong, unix.Stat(filepath.Join(around, name), &stat)); wrong != nil || string(content) != "secret" || stat.Nlink != 1 || stat.Mode&0o777 != 0o600 {
			t.Errorf("%s has changed: %v", name, wrong)
		}
	}
	return err
}

func TestNothingOutsideOfTheTreesIsTouched(t *testing.T) {
	link := func(target string) *tar.Header {
		return &tar.Header{Typeflag: tar.TypeSymlink, Name: "upper/l", Linkname: target}
	}
	file := func(name string) *tar.Header {
		return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 5, Mode: 0o777}
	}
	for name, entries := range map[string][]*tar.Header{
		"dots":            {file("upper/../machine.json")},
		"more dots":       {file("../secret")},
		"absolute":        {file("/secret")},
		"another tree":    {file("memory/x")},
		"through a link":  {dir("upper"), link(".."), file("upper/l/machine.json")},
		"far away":        {dir("upper"), link("../../other"), file("upper/l/file")},
		"hard link":       {dir("upper"), {Typeflag: tar.TypeLink, Name: "upper/x", Linkname: "machine.json"}},
		"link by a link":  {dir("upper"), link(".."), {Typeflag: tar.TypeLink, Name: "upper/x", Linkname: "upper/l/machine.json"}},
		"unknown kind":    {dir("upper"), {Typeflag: tar.TypeCont, Name: "upper/x"}},
		"other attribute": {dir("upper"), {Typeflag: tar.TypeReg, Name: "upper/x", PAXRecords: map[string]string{xattrPrefix + "security.selinux": "x"}}},
	} {
		if err := unpacked(t, archive(entries...)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	for name, entries := range map[string][]*tar.Header{
		"a link's own owner and times": {dir("upper"), link("../../secret")},
		"a link in place of the tree":  {{Typeflag: tar.TypeSymlink, Name: "upper", Linkname: "../other"}},
		"kept":                         {dir("upper"), link("../machine.json"), {Typeflag: tar.TypeReg, Name: "upper/l", PAXRecords: map[string]string{keptRecord: yes}}},
	} {
		_ = unpacked(t, archive(entries...))
		_ = name
	}
}

func TestAnArchiveThatIsCutIsAnError(t *testing.T) {
	whole := archive(dir("upper"), &tar.Header{Typeflag: tar.TypeReg, Name: "upper/x", Size: 9000})
	for n := 1; n < len(whole)-2048; n += 300 {
		if err := unpacked(t, whole[:n]); err == nil {
			t.Errorf("%d of %d bytes are taken", n, len(whole))
		}
	}
	if err := unpacked(t, whole); err != nil {
		t.Error(err)
	}
}

func FuzzReceiver(f *testing.F) {
	f.Add(archive(dir("upper"), &tar.Header{Typeflag: tar.TypeReg, Name: "upper/x", Size: 4097}))
	f.Add(archive(dir("upper"), &tar.Header{Typeflag: tar.TypeSymlink, Name: "upper/l", Linkname: ".."}))
	f.Fuzz(func(t *testing.T, sent []byte) { _ = unpacked(t, sent) })
}
