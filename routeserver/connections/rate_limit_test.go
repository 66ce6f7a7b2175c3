package connections

import (
	"fmt"
	"testing"
	"time"
)

func TestAStrangerIsNotAnsweredAsOftenAsItLikes(t *testing.T) {
	strangers, now := NewStrangers(2, 100), time.Unix(1_700_000_000, 0)
	admitted := func(remote string, times int) int {
		count := 0
		for range times {
			if strangers.Admit(remote, now) {
				count++
			}
		}
		return count
	}
	if got := admitted("192.0.2.1:1000", 50); got != 20 {
		t.Errorf("%d of 50 at once", got)
	}
	if got := admitted("192.0.2.1:2000", 50); got != 0 {
		t.Errorf("%d more from another port", got)
	}
	if got := admitted("192.0.2.2:1000", 5); got != 5 {
		t.Errorf("%d of 5 of somebody else", got)
	}
	admitted("[2001:db8::1]:1000", 50)
	if got := admitted("[2001:db8::2]:1000", 5); got != 0 {
		t.Errorf("%d more from the same /64", got)
	}
	now = now.Add(3 * time.Second)
	if got := admitted("192.0.2.1:1000", 50); got != 6 {
		t.Errorf("%d of 50 after 3 s", got)
	}
}

func TestStrangersAreForgotten(t *testing.T) {
	strangers, now := NewStrangers(2, 100), time.Unix(1_700_000_000, 0)
	for i := range 1000 {
		if !strangers.Admit(fmt.Sprintf("10.0.%d.%d:80", i/256, i%256), now) {
			t.Fatalf("the first request of number %d", i)
		}
		if len(strangers.seen) > 100 {
			t.Fatalf("%d are remembered", len(strangers.seen))
		}
	}
	now = now.Add(time.Minute)
	strangers.Admit("192.0.2.1:80", now)
	if len(strangers.seen) != 1 {
		t.Errorf("%d are remembered after a minute", len(strangers.seen))
	}
}
