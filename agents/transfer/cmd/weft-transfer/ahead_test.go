package main

import (
	"errors"
	"testing"
)

func TestACopyAheadOfTimeEndsWithinARecordAndServesLater(t *testing.T) {
	one, other := newCloudlet(t), newCloudlet(t)
	stream, g := precopy(1500, 1)
	ahead := newMove(t, one, other)
	ahead.args = append(ahead.args, "--keep")
	ahead.dies = true // the QEMU that sends cancels
	if o := ahead.run(stream[:len(stream)*2/3+7]); errors.Join(o.sent, o.received) != nil {
		t.Fatal(o.sent, o.received)
	}
	before := one.status().Left
	stream = append(g.Begin(), rounds(g)...)
	later := newMove(t, one, other)
	later.args = append(later.args, "--keep")
	later.run(stream).well(t, stream)
	if status := one.status(); !status.Kept || status.Pages["same"] < 500 || status.Left > before {
		t.Errorf("ahead %d bytes, later %d: %+v", before, status.Left, status)
	}
}
