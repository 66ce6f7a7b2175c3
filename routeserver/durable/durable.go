// Package durable replaces files so that after a crash of the process or of the host the old or the new one is there.
// The fsync of a file does not store its name, which belongs to its directory (fsync(2), "Notes"), so an fsync of the
// directory follows each rename.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes a file with that content and mode. When Replace returns without an error, the file and its name are on
// disk; with an error the old file is still there.
func Replace(path string, data []byte, mode fs.FileMode) error {
	fresh := path + ".new"
	_ = os.Remove(fresh) // its mode may differ
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

// Names writes the names in a directory to the disk, so that renames and removals there survive a crash.
func Names(directory string) error {
	dir, err := os.Open(directory)
	if err != nil {
		return err
	}
	return errors.Join(synced(dir), dir.Close())
}

var synced = (*os.File).Sync // a variable, so that a test can count calls
