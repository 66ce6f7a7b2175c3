package ruleset

import (
	"fmt"
	"testing"
)

func TestHistoryKeepsTheLastOnesAndIsBounded(t *testing.T) {
	var h History
	if low, high := h.Range(); h.At(0) != nil || low != 0 || high != 0 {
		t.Errorf("an empty history knows %d to %d", low, high)
	}
	set, err := Build(&Document{Generation: 1, Vcps: []Vcp{{Name: "pool"}}})
	if err != nil {
		t.Fatal(err)
	}
	h.Add(set)
	for generation := uint64(2); generation <= 1000; generation++ {
		if set, err = set.Apply(&Change{Base: generation - 1, Generation: generation, Ops: []Operation{{Op: SetVcp, Vcp: &Vcp{Name: fmt.Sprint("p", generation)}}}}); err != nil {
			t.Fatal(err)
		}
		h.Add(set)
	}
	if low, high := h.Range(); low != 1000-historyRoom+1 || high != 1000 || h.At(low) == nil || h.At(low-1) != nil {
		t.Errorf("after 1000 changes: %d to %d", low, high)
	}
	if last := h.At(999); last == nil || len(last.Members("p999")) != 0 || last.vcps.look("p1000") != nil {
		t.Error("generation 999 is not what it was")
	}
	for generation := uint64(2000); generation < 2100; generation++ { // sets put in force as a whole share nothing
		set, _ = Build(&Document{Generation: generation})
		h.Add(set)
	}
	if len(h.sets) != historyRoom/wholeWeight || h.At(2099) == nil || h.At(1000) != nil {
		t.Errorf("%d whole sets are kept", len(h.sets))
	}
	again, _ := Build(&Document{Generation: 2098, Vcps: []Vcp{{Name: "back"}}}) // rolled back
	h.Add(again)
	if low, high := h.Range(); h.At(2098) != again || low != 2093 || high != 2099 {
		t.Errorf("rolled back: %d to %d", low, high)
	}
}
