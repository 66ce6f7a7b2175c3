package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"
	"testing"

	"weft/agents/transfer/internal/qemutest"
)

// newDisk returns a move of a disk of so many pages, of which both ends keep a copy.
func newDisk(t *testing.T, from, to *cloudlet, pages int) *move {
	t.Helper()
	m := newMove(t, from, to)
	m.args = append(m.args, "--keep", "--disk", strconv.Itoa(pages*4096))
	return m
}

func TestADiskArrivesAsItWas(t *testing.T) {
	g := qemutest.NewGuest(1500, 1)
	s := copied(g)
	m := newDisk(t, newCloudlet(t), newCloudlet(t), 1500)
	image := qemutest.NewGuest(1500, 1)
	image.Write(300)
	m.sends = []string{"--reference", m.from.reference("image", image)}
	m.receives = []string{"--reference", m.to.reference("image", image)}
	m.run(s).well(t, s)
	status := m.from.status()
	if status.Pages["zero"] < 300 || status.Pages["copy"] < 500 || status.Pages["delta"] == 0 {
		t.Errorf("%+v", status)
	}
}

func TestADisksWayHomeCostsWhatHasChanged(t *testing.T) {
	one, other := newCloudlet(t), newCloudlet(t)
	g := qemutest.NewGuest(1500, 1)
	s := copied(g)
	newDisk(t, one, other, 1500).run(s).well(t, s)
	there := one.status().Left
	g.Write(50)
	s = copied(g)
	newDisk(t, other, one, 1500).run(s).well(t, s)
	if status := other.status(); !status.Kept || status.Pages["same"] < 800 || status.Left > there/5 {
		t.Errorf("out %d bytes, home %d: %+v", there, status.Left, status)
	}
}

func TestAnImageThatIsOtherThanItsDigestCostsADiskBytesOnly(t *testing.T) {
	g := qemutest.NewGuest(1000, 1)
	s := copied(g)
	m := newDisk(t, newCloudlet(t), newCloudlet(t), 1000)
	right := m.from.reference("image", g)
	m.to.reference("image", qemutest.NewGuest(1000, 9))
	m.sends = []string{"--reference", right}
	m.receives = []string{"--reference", right[:65] + m.to.path("image")}
	m.run(s).well(t, s)
	if status := m.from.status(); status.Wrong == 0 || status.Wrong != m.to.status().Wrong {
		t.Errorf("%+v", status)
	}
}

// closing is an NBD server's connection that closes after some bytes.
type closing struct {
	net.Conn
	left int
}

func (c *closing) Read(to []byte) (int, error) {
	if c.left <= 0 {
		return 0, io.EOF
	}
	n, err := c.Conn.Read(to[:min(len(to), c.left)])
	c.left -= n
	return n, err
}

func TestAServerThatClosesFirstCostsNoCopy(t *testing.T) {
	one, other := newCloudlet(t), newCloudlet(t)
	g := qemutest.NewGuest(1500, 1)
	s := copied(g)
	m := newDisk(t, one, other, 1500)
	m.through = func(conn net.Conn) net.Conn { return &closing{conn, len(s) / 2} }
	o := m.run(s)
	if err := errors.Join(o.sent, o.received); err != nil || !bytes.HasPrefix(s, o.stream) {
		t.Fatal(err)
	}
	s = copied(g)
	newDisk(t, other, one, 1500).run(s).well(t, s)
	if !other.status().Kept {
		t.Error("the copies are not used")
	}
}
