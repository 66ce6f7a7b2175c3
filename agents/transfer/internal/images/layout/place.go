package layout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"weft/agents/transfer/internal/images"
	"weft/routeserver/durable"
)

// Lock takes the lock of a folder, without waiting. Closing the file releases it.
func Lock(folder string) (*os.File, error) {
	file, err := os.OpenFile(folder, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is locked: %w", folder, err), file.Close())
	}
	return file, nil
}

// Place gives a finished image its place, whole at each moment. If there is something else in that place it is removed,
// or with replace unset the image is refused.
func Place(work, place string, replace bool) error {
	err := unix.Renameat2(unix.AT_FDCWD, work, unix.AT_FDCWD, place, unix.RENAME_NOREPLACE)
	switch {
	case err == nil:
		return durable.Names(filepath.Dir(place))
	case !errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s cannot be put in place: %w", place, err)
	case !replace:
		return images.Refuse("another version is in place at %s; --replace replaces it", place)
	}
	// The folder of before gets the name of the work's, where nobody else may begin to work before it has gone.
	if old, err := Lock(place); err == nil {
		defer old.Close()
	} else if errors.Is(err, unix.EWOULDBLOCK) {
		return err
	}
	if err := unix.Renameat2(unix.AT_FDCWD, work, unix.AT_FDCWD, place, unix.RENAME_EXCHANGE); err != nil {
		return fmt.Errorf("%s cannot be exchanged: %w", place, err)
	}
	if err := durable.Names(filepath.Dir(place)); err != nil {
		return err
	}
	return os.RemoveAll(work)
}
