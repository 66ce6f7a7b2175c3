package lookingglass_test

import (
	"fmt"
	"strings"
	"testing"

	"weft/routeserver/internal/lookingglass"
	"weft/routeserver/internal/wire"
)

// TestExplainSaysHowManyAreKeptBack checks that a sent route does not make the verdict "sent" while others of the
// endpoint are in quarantine, and that the text names a near miss.
func TestExplainSaysHowManyAreKeptBack(t *testing.T) {
	for name, c := range map[string]struct {
		rts  []string
		want []string
	}{
		"symmetric IRB":    {[]string{"65000:2", "65000:5000"}, []string{"1 of 2 routes in quarantine", "ambiguous", "prefix-routes-only"}},
		"another encoding": {[]string{"65000L:2"}, []string{"1 of 2 routes in quarantine", "unknown-rt", "65000L:2 is the endpoint's route target 65000:2 in another encoding"}},
	} {
		e, peers := threeSites(t)
		communities := ""
		for _, rt := range c.rts {
			communities += target(t, rt)
		}
		a := &wire.Attributes{NextHop: "\x0a\x00\x00\x01", RTs: communities, Path: "\x40\x01\x01\x00\x40\x02\x00\x40\x05\x04\x00\x00\x00\x64"}
		second := "\x00\x11\x00\x00\xfd\xe8\x00\x00\x00\x63\x00\x02\x00\x01\x00\x40\x01\x00\x10" // with another RD
		if err := e.Update(peers[1], &wire.Update{Attributes: a, ReachFamily: wire.VPLS, Reach: []string{second}}); err != nil {
			t.Fatal(err)
		}
		for { // as a session does
			taken, more := peers[0].Queue.Take(false)
			if !more {
				break
			}
			peers[0].Queue.Written(taken)
		}
		x, err := lookingglass.Explain(e, "e2", "e1", "")
		if err != nil || x.Verdict != "partly" {
			t.Fatalf("%s: %+v, %v", name, x, err)
		}
		for _, part := range c.want {
			if !strings.Contains(x.Text, part) {
				t.Errorf("%s: %q is not in %q", name, part, x.Text)
			}
		}
	}
}

// TestExplainTakesTheNameThatIsShown checks that a query accepts the route's name in the tables, its name in gobgp, and
// hexadecimal; the name of one route does not match as a part of another's.
func TestExplainTakesTheNameThatIsShown(t *testing.T) {
	e, peers := threeSites(t)
	a := &wire.Attributes{NextHop: "\x0a\x00\x00\x01", RTs: target(t, "65000:2"), Path: "\x40\x01\x01\x00\x40\x02\x00\x40\x05\x04\x00\x00\x00\x64"}
	first := "\x00\x11\x00\x00\xfd\xe8\x00\x00\x00\x02\x00\x02\x00\x09\x00\x40\x01\x00\x10"
	tenth := "\x00\x11\x00\x00\xfd\xe8\x00\x00\x00\x02\x00\x02\x00\x59\x00\x40\x01\x00\x10"
	if err := e.Update(peers[1], &wire.Update{Attributes: a, ReachFamily: wire.VPLS, Reach: []string{first, tenth}}); err != nil {
		t.Fatal(err)
	}
	shown := wire.VPLS.Text(first)
	if shown != "65000:2:2:9" {
		t.Fatalf("shown as %q", shown)
	}
	for name, want := range map[string]int{shown: 1, shown + " (Block Size: 64, Label Block Base: 4097)": 1, fmt.Sprintf("%x", first): 1, "65000:2:2:8": 1, ":2:2:": 2, "nothing": 0} {
		x, err := lookingglass.Explain(e, "e2", "e1", name)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, r := range x.Routes {
			if strings.HasPrefix(r.NLRI, "65000:2:2:") && !strings.HasSuffix(r.NLRI, ":1") {
				found++
			}
		}
		if found != want {
			t.Errorf("%q: %d routes, not %d: %+v", name, found, want, x.Routes)
		}
	}
}
