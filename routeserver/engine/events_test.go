package engine

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatHappensOverAndOverIsToldInOneEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLog()
		texts := func() (list []string) {
			events, _ := l.After(0)
			for _, e := range events {
				list = append(list, e.Peer+": "+e.Text)
			}
			return list
		}
		for range 5000 {
			l.AddOften("quarantined", "pe0", "foreign-rt", "a route")
		}
		l.AddOften("quarantined", "pe0", "foreign-rd", "another reason")
		l.AddOften("quarantined", "pe1", "foreign-rt", "another peer")
		if have := texts(); len(have) != 3 || have[0] != "pe0: a route" {
			t.Fatalf("%q", have)
		}
		time.Sleep(quiet + time.Second)
		have := texts()
		if len(have) != 4 || !strings.Contains(have[3], "and 4998 more like this within 10s") {
			t.Fatalf("%q", have)
		}
		l.AddOften("quarantined", "pe0", "foreign-rt", "the last")
		time.Sleep(quiet)
		if have = texts(); len(have) != 5 || have[4] != "pe0: the last" {
			t.Fatalf("%q", have)
		}
		time.Sleep(2 * quiet)
		l.mu.Lock()
		remembered := len(l.hushed)
		l.mu.Unlock()
		if remembered != 0 || len(texts()) != 5 {
			t.Fatalf("%d are remembered; %q", remembered, texts())
		}
		l.AddOften("quarantined", "pe0", "foreign-rt", "at once again")
		if have = texts(); len(have) != 6 {
			t.Fatalf("%q", have)
		}
		time.Sleep(2 * quiet)
	})
}
