package main

import (
	"strconv"
	"testing"

	"weft/agents/transfer/internal/qemutest"
)

// newDisk returns a move of a disk of so many pages, of which both ends keep a copy.
func newDisk(t *testing.T, from, to *cloudlet, pages int) *move {
	t.Helper()
	m := newMove(t, from, to)
	m.args = append(m.args, "--keep")
	m.sends = []string{"--disk", strconv.Itoa(pages * 4096)}
	return m
}

func TestADiskArrivesAsItWas(t *testing.T) {
	g := qemutest.NewGuest(1500, 1)
	s := copied(g)
	m := newDisk(t, newCloudlet(t), newCloudlet(t), 1500)
	image := qemutest.NewGuest(1500, 1)
	image.Write(300)
	m.sends = append(m.sends, "--reference", m.from.reference("image", image))
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

func TestADisksCopyThatIsCorruptCostsBytesOnly(t *testing.T) {
	g := qemutest.NewGuest(1000, 1)
	s := copied(g)
	m := newDisk(t, newCloudlet(t), newCloudlet(t), 1000)
	right := m.from.reference("image", g)
	m.to.reference("image", qemutest.NewGuest(1000, 9))
	m.sends = append(m.sends, "--reference", right)
	m.receives = []string{"--reference", right[:65] + m.to.path("image")}
	m.run(s).well(t, s)
	if status := m.from.status(); status.Wrong == 0 || status.Wrong != m.to.status().Wrong {
		t.Errorf("%+v", status)
	}
}
