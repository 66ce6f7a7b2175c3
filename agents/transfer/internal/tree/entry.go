package tree

import (
	"archive/tar"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// xattrPrefix is that of PAX records of extended attributes, as GNU tar has it.
const xattrPrefix = "SCHILY.xattr."

// xattrs are the extended attributes that go along, by the beginning of their names: overlayfs's whiteouts and opaque
// directories, capabilities, ACLs, and those of users.
var xattrs = []string{"trusted.overlay.", "security.capability", "system.posix_acl_", "user."}

func carried(attribute string) bool {
	for _, prefix := range xattrs {
		if strings.HasPrefix(attribute, prefix) {
			return true
		}
	}
	return false
}

// identity tells whether a file is the one of an earlier round, with the same content.
type identity struct {
	device, inode, links uint64
	size                 int64
	modified, changed    unix.Timespec
}

// inode is a file's inode, to find hard links.
type inode struct{ device, number uint64 }

func identified(stat *unix.Stat_t) identity {
	links := uint64(stat.Nlink) // 32 bits on arm64
	return identity{stat.Dev, stat.Ino, links, stat.Size, stat.Mtim, stat.Ctim}
}

// settled reports whether the content cannot have changed since `before` without a newer identity: the kernel's clock
// for files ticks every few milliseconds.
func (i identity) settled(before time.Time) bool {
	return time.Unix(i.changed.Unix()).Before(before.Add(-time.Second))
}

// header returns the tar header of what is at `path`; nil for a socket, which its owner makes anew.
func header(path, name string, stat *unix.Stat_t) (*tar.Header, error) {
	h := &tar.Header{
		Name: name, Mode: int64(stat.Mode &^ unix.S_IFMT), Uid: int(stat.Uid), Gid: int(stat.Gid),
		ModTime: time.Unix(stat.Mtim.Unix()), Format: tar.FormatPAX, PAXRecords: map[string]string{},
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		h.Typeflag, h.Size = tar.TypeReg, stat.Size
	case unix.S_IFDIR:
		h.Typeflag = tar.TypeDir
		h.Name += "/"
	case unix.S_IFLNK:
		h.Typeflag = tar.TypeSymlink
		target, err := os.Readlink(path)
		if err != nil {
			return nil, err
		}
		h.Linkname = target
	case unix.S_IFCHR, unix.S_IFBLK:
		h.Typeflag = tar.TypeChar
		if stat.Mode&unix.S_IFMT == unix.S_IFBLK {
			h.Typeflag = tar.TypeBlock
		}
		h.Devmajor, h.Devminor = int64(unix.Major(stat.Rdev)), int64(unix.Minor(stat.Rdev))
	case unix.S_IFIFO:
		h.Typeflag = tar.TypeFifo
	case unix.S_IFSOCK:
		return nil, nil
	default:
		return nil, fmt.Errorf("%s is of an unknown kind, mode %o", path, stat.Mode)
	}
	return h, attributes(path, h.PAXRecords)
}

func attributes(path string, records map[string]string) error {
	names, err := listAttributes(path)
	if err != nil {
		return err
	}
	value := make([]byte, 1<<16) // the kernel's limit
	for _, name := range names {
		n, err := unix.Lgetxattr(path, name, value)
		if errors.Is(err, unix.ENODATA) {
			continue
		}
		if err != nil {
			return &fs.PathError{Op: "getxattr " + name, Path: path, Err: err}
		}
		records[xattrPrefix+name] = string(value[:n])
	}
	return nil
}

// listAttributes returns the names of the extended attributes that go along.
func listAttributes(path string) ([]string, error) {
	all := make([]byte, 1<<16) // the kernel's limit
	n, err := unix.Llistxattr(path, all)
	if errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, &fs.PathError{Op: "listxattr", Path: path, Err: err}
	}
	var names []string
	for name := range strings.SplitSeq(strings.TrimSuffix(string(all[:n]), "\x00"), "\x00") {
		if carried(name) {
			names = append(names, name)
		}
	}
	return names, nil
}
