package session

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// unread tells how many of the bytes that were written to a connection its other end has not acknowledged (tcp(7), SIOCOUTQ).
func unread(conn net.Conn) func() int {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	return func() int {
		n := 0
		_ = control(raw, func(fd int) (err error) {
			n, err = unix.IoctlGetInt(fd, unix.SIOCOUTQ)
			return err
		})
		return n
	}
}
