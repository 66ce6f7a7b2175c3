// Package durable replaces files so that a crash of the process or of the host leaves the old one or the new one. The
// fsync of a file does not keep its name, which is its directory's (fsync(2), "Notes"): each rename is followed by one
// of that.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace gives the file that content and that mode. It is on the disk, with its name, when Replace returns without an
// error; else the old one is still there.
func Replace(path string, data []byte, mode fs.FileMode) error {
	fresh := path + ".new"
	_ = os.Remove(fresh) // its mode may be another
	file, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	return Names(filepath.Dir(path))
}

// Names has the names in a directory on the disk: what was renamed or removed there stays so.
func Names(directory string) error {
	dir, err := os.Open(directory)
	if err != nil {
		return err
	}
	return errors.Join(synced(dir), dir.Close())
}

var synced = (*os.File).Sync // a test counts
