package rawbgp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Longest is the greatest length of a message in octets (RFC 8654 section 3).
const Longest = 65535

const header = 19

// Shake opens a session (RFC 4271 section 8): it writes the OPEN, reads the other one, and exchanges KEEPALIVEs. `in`
// reads from the connection, which has no deadline afterwards.
func Shake(conn net.Conn, in io.Reader, open []byte, patience time.Duration) error {
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := conn.Write(open); err != nil {
		return err
	}
	buf := make([]byte, Longest)
	for _, want := range []byte{TypeOpen, TypeKeepalive} {
		kind, body, err := Read(in, buf)
		if err == nil && kind != want {
			err = fmt.Errorf("message type %d comes where %d is due: %x", kind, want, body)
		}
		if err != nil {
			return err
		}
		if want == TypeOpen {
			if _, err := conn.Write(Message(TypeKeepalive, nil)); err != nil {
				return err
			}
		}
	}
	return conn.SetDeadline(time.Time{})
}

// Read reads the next message and returns its type and its body, which is in buf (of length Longest).
func Read(in io.Reader, buf []byte) (byte, []byte, error) {
	if _, err := io.ReadFull(in, buf[:header]); err != nil {
		return 0, nil, err
	}
	n, kind := int(binary.BigEndian.Uint16(buf[16:])), buf[18]
	if n < header {
		return 0, nil, errors.New("a message is shorter than its header")
	}
	_, err := io.ReadFull(in, buf[:n-header])
	return kind, buf[:n-header], err
}
