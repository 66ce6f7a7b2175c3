package session

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// unread returns a function that counts the bytes written to a connection that the other end has not acknowledged
// (tcp(7), SIOCOUTQ).
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
