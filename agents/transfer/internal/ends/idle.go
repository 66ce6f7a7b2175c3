package ends

import (
	"errors"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pause is how long QEMU may be silent until what it has said is sent on: it may wait for an answer.
const pause = 2 * time.Millisecond

// idle is QEMU's connection; `silent` is called before a read that has to wait. A QEMU that closes it before it has read
// all of the return path ends the stream no less.
type idle struct {
	net.Conn
	silent func()
}

func (i *idle) Read(to []byte) (int, error) {
	if err := i.SetReadDeadline(time.Now().Add(pause)); err != nil {
		return 0, err
	}
	n, err := i.Conn.Read(to)
	if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		i.silent()
		if err := i.SetReadDeadline(time.Time{}); err != nil {
			return 0, err
		}
		n, err = i.Conn.Read(to)
	}
	if errors.Is(err, unix.ECONNRESET) {
		err = io.EOF
	}
	return n, err
}
