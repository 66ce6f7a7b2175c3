package tree

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"weft/agents/transfer/internal/stream"
)

// clear removes what is there, unless it is the same directory or file as before.
func (p place) clear() error {
	there, err := p.root.Lstat(p.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if p.head.Typeflag == tar.TypeDir && there.IsDir() {
		return nil
	}
	if p.head.PAXRecords[keptRecord] == yes && there.Mode().IsRegular() {
		return nil
	}
	return p.root.RemoveAll(p.name)
}

func (p place) create(content io.Reader) error {
	switch p.head.Typeflag {
	case tar.TypeDir:
		if err := p.root.Mkdir(p.name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	case tar.TypeReg:
		return p.regular(content)
	case tar.TypeSymlink:
		return p.root.Symlink(p.head.Linkname, p.name)
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		return p.node()
	default:
		return fmt.Errorf("an entry of kind %q", p.head.Typeflag)
	}
}

func (p place) regular(content io.Reader) error {
	if p.head.PAXRecords[keptRecord] == yes {
		_, err := p.root.Lstat(p.name)
		return err
	}
	file, err := p.root.OpenFile(p.name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(fill(file, p.head.Size, content), file.Close())
}

// fill writes a file's content; pages of zeroes become holes.
func fill(file *os.File, size int64, content io.Reader) error {
	if err := file.Truncate(size); err != nil {
		return err
	}
	var page [stream.PageSize]byte
	for at := int64(0); at < size; at += stream.PageSize {
		now := page[:min(size-at, stream.PageSize)]
		if _, err := io.ReadFull(content, now); err != nil {
			return noEnd(err)
		}
		if len(now) == stream.PageSize && page == zeroes {
			continue
		}
		if _, err := file.WriteAt(now, at); err != nil {
			return err
		}
	}
	return nil
}

// node makes a device, such as a whiteout of overlayfs, or a FIFO.
func (p place) node() error {
	kind := map[byte]uint32{tar.TypeChar: unix.S_IFCHR, tar.TypeBlock: unix.S_IFBLK, tar.TypeFifo: unix.S_IFIFO}[p.head.Typeflag]
	device := unix.Mkdev(uint32(p.head.Devmajor), uint32(p.head.Devminor))
	return p.within(func(directory int, base string) error {
		return unix.Mknodat(directory, base, kind|0o600, int(device))
	})
}

// within calls `do` with the open directory of the place, and the name in it.
func (p place) within(do func(directory int, base string) error) error {
	directory, err := p.root.Open(path.Dir(p.name))
	if err != nil {
		return err
	}
	defer directory.Close()
	return do(int(directory.Fd()), path.Base(p.name))
}

// describe gives an entry its owner, mode, attributes and times, in this order: each may undo those that follow.
func (p place) describe() error {
	if err := p.root.Lchown(p.name, p.head.Uid, p.head.Gid); err != nil {
		return err
	}
	return p.within(func(directory int, base string) error {
		if p.head.Typeflag != tar.TypeSymlink {
			if err := unix.Fchmodat(directory, base, uint32(p.head.Mode)&0o7777, 0); err != nil {
				return fmt.Errorf("mode: %w", err)
			}
		}
		if err := setAttributes(fmt.Sprintf("/proc/self/fd/%d/%s", directory, base), p.head.PAXRecords); err != nil {
			return err
		}
		at := unix.NsecToTimespec(p.head.ModTime.UnixNano())
		return unix.UtimesNanoAt(directory, base, []unix.Timespec{at, at}, unix.AT_SYMLINK_NOFOLLOW)
	})
}

// setAttributes gives an entry the extended attributes that a header has, and no others.
func setAttributes(path string, records map[string]string) error {
	there, err := listAttributes(path)
	if err != nil {
		return err
	}
	for _, name := range there {
		if _, stays := records[xattrPrefix+name]; !stays {
			if err := unix.Lremovexattr(path, name); err != nil {
				return fmt.Errorf("attribute %s: %w", name, err)
			}
		}
	}
	for record, value := range records {
		name, is := strings.CutPrefix(record, xattrPrefix)
		if !is {
			continue
		}
		if !carried(name) {
			return fmt.Errorf("attribute %.100q is not taken", name)
		}
		if err := unix.Lsetxattr(path, name, []byte(value), 0); err != nil {
			return fmt.Errorf("attribute %s: %w", name, err)
		}
	}
	return nil
}
