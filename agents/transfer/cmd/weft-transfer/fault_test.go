package main

import (
	"bytes"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"weft/agents/transfer/internal/ends"
)

// dying is a QEMU's connection that ends after some bytes.
type dying struct {
	net.Conn
	left int
}

func (d *dying) Read(to []byte) (int, error) {
	n, err := d.Conn.Read(to)
	if d.left -= n; d.left < 0 {
		_ = d.Close()
		return 0, errors.New("this QEMU has died")
	}
	return n, err
}

func TestBothEndsFailIfTheWaitingQEMUDies(t *testing.T) {
	stream, _ := precopy(1500, 1)
	m := newMove(t, newCloudlet(t), newCloudlet(t))
	m.through = func(conn net.Conn) net.Conn { return &dying{conn, 1 << 20} }
	o := m.run(stream)
	if o.sent == nil || o.received == nil {
		t.Fatalf("sent: %v, received: %v", o.sent, o.received)
	}
	for _, c := range []*cloudlet{m.from, m.to} {
		if status := c.status(); status.Phase != ends.Failed || status.Error == "" {
			t.Errorf("%+v", status)
		}
		if _, err := os.Stat(c.path("mirror")); err == nil {
			t.Error("the mirror, which is the guest's memory, is left behind")
		}
	}
}

func TestTheWaitingQEMUSeesAStreamThatEndsTooEarly(t *testing.T) {
	stream, _ := precopy(1500, 1)
	m := newMove(t, newCloudlet(t), newCloudlet(t))
	m.dies = true
	part := stream[:len(stream)/2]
	if o := m.run(part); !bytes.HasPrefix(part, o.stream) || len(o.stream) == 0 {
		t.Fatalf("%d bytes of %d came, or other ones", len(o.stream), len(part))
	}
}

func TestAMirrorThatIsCutIsAnErrorAndNoCrash(t *testing.T) {
	stream, _ := precopy(1500, 1)
	m := newMove(t, newCloudlet(t), newCloudlet(t))
	m.through = func(conn net.Conn) net.Conn {
		if err := os.Truncate(m.to.path("mirror"), 1<<20); err != nil {
			t.Error(err)
		}
		return conn
	}
	// The file is mapped when the first batch has come; so the cut is repeated until the end.
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				_ = os.Truncate(m.to.path("mirror"), 1<<20)
			}
		}
	}()
	o := m.run(stream)
	close(stop)
	if o.received == nil || !strings.Contains(o.received.Error(), "a mirror or reference file cannot be accessed") {
		t.Errorf("received: %v", o.received)
	}
	if o.sent == nil || !strings.Contains(o.sent.Error(), "cannot be accessed") {
		t.Errorf("sent: %v", o.sent)
	}
}

func TestEndsOfOtherMovesRefuseEachOther(t *testing.T) {
	m := newMove(t, newCloudlet(t), newCloudlet(t))
	m.sends, m.receives = []string{"--move", "m2"}, nil
	done := make(chan error, 1)
	go func() { done <- m.end(m.to, "receive", "--listen") }()
	for {
		err := m.end(m.from, "send", "--to", m.sends...)
		if err != nil && strings.Contains(err.Error(), "connection refused") {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), `one end is for move \"m2\" and the other one for \"m1\"`) {
			t.Errorf("error %v", err)
		}
		break
	}
	select {
	case err := <-done:
		t.Errorf("the destination's end waits no more: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
}

func TestOptionsThatAreNotMeantAreRefused(t *testing.T) {
	for text, args := range map[string]string{
		`"" is not send, receive, store or hash`:     "",
		`"sned" is not send, receive, store or hash`: "sned",
		"--hashes and --reference are required":      "hash --hashes h",
		"--qemu and --memory are required":           "store --qemu q",
		"send goes with --to":                        "send --listen 1.2.3.4:5",
		"--qemu, --move and --mirror are required":   "send --to 1.2.3.4:5",
		"--identity and --peer are required":         "send --to 1.2.3.4:5 --qemu q --move m --mirror f",
		"--clear is without --identity":              "send --to 1.2.3.4:5 --qemu q --move m --mirror f --clear --peer p",
		`"1.2.3.4" is not of the form host:port`:     "send --to 1.2.3.4 --qemu q --move m --mirror f --clear",
		"--workers 0 is not from 1 to 64":            "send --to 1.2.3.4:5 --qemu q --move m --mirror f --clear --workers 0",
		"--mirror-bytes -1 is less than 0":           "send --to 1.2.3.4:5 --qemu q --move m --mirror f --clear --mirror-bytes -1",
		"it is not of the form sha256:path":          "send --reference abc:/x",
		`"zstd" is not known, deltas or compression`: "send --without known,zstd",
		`"more" is not an option`:                    "send --to 1.2.3.4:5 more",
	} {
		if _, err := parse(strings.Fields(args), nil); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", args, err)
		}
	}
}
