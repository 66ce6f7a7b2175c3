package rawbgp

import (
	"bytes"
	"net"
	"testing"
	"time"
)

// TestShake tries answers that the other end may give.
func TestShake(t *testing.T) {
	open, alive := Message(TypeOpen, []byte{4}), Message(TypeKeepalive, nil)
	short := Message(TypeOpen, nil)
	short[17] = 18
	for name, c := range map[string]struct{ answer, err string }{
		"an OPEN and a KEEPALIVE":   {string(open) + string(alive), ""},
		"a NOTIFICATION":            {string(Message(TypeNotification, []byte{2, 2})), "message type 3 comes where 1 is due: 0202"},
		"two OPENs":                 {string(open) + string(open), "message type 1 comes where 4 is due: 04"},
		"half a header":             {string(open[:7]), "unexpected EOF"},
		"less than a header":        {string(short), "a message is shorter than its header"},
		"less than the length says": {string(open[:19]), "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer ours.Close()
			defer theirs.Close()
			said := make(chan []byte, 1)
			go func() {
				heard := make([]byte, len(open))
				_, _ = theirs.Read(heard)
				go func() { _, _ = theirs.Read(make([]byte, len(alive))) }()
				_, _ = theirs.Write([]byte(c.answer))
				if c.err != "" {
					theirs.Close() // no more bytes follow
				}
				said <- heard
			}()
			err := Shake(ours, ours, open, time.Minute)
			if (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
				t.Errorf("%v, not %q", err, c.err)
			}
			ours.Close()
			if heard := <-said; !bytes.Equal(heard, open) {
				t.Errorf("the other end heard %x", heard)
			}
		})
	}
}
