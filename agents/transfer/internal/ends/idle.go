package ends

import (
	"errors"
	"net"
	"os"
	"time"
)

// pause is how long QEMU may be silent until what it has said is sent on: it may wait for an answer.
const pause = 2 * time.Millisecond

// idle is QEMU's connection; `silent` is called before a read that has to wait.
type idle struct {
	net.Conn
	silent func()
}

func (i *idle) Read(to []byte) (int, error) {
	if err := i.SetReadDeadline(time.Now().Add(pause)); err != nil {
		return 0, err
	}
	n, err := i.Conn.Read(to)
	if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	i.silent()
	if err := i.SetReadDeadline(time.Time{}); err != nil {
		return 0, err
	}
	return i.Conn.Read(to)
}
