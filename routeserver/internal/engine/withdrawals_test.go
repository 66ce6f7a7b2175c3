package engine

import (
	"strings"
	"testing"

	"weft/routeserver/internal/wire"
)

// labelBlock returns a label block of the first site with a size and a label base.
func labelBlock(size, base string) string {
	return "\x00\x11\x00\x00\xfd\xe8\x00\x00\x00\x01\x00\x01\x00\x01" + size + base
}

// TestALabelBlockIsWithdrawnByItsKey checks that a withdrawal names a block by RD, VE ID and offset. The withdrawal of a
// block that was replaced before leaves the other in force, once. No withdrawal is ignored without an event.
func TestALabelBlockIsWithdrawnByItsKey(t *testing.T) {
	const eight, first, second = "\x00\x08", "\x40\x01\x00", "\x50\x01\x00"
	for name, c := range map[string]struct {
		announced []string // one after the other
		withdrawn []string
		left      int
		event     string
	}{
		"as announced":           {[]string{labelBlock(eight, first)}, []string{labelBlock(eight, first)}, 0, ""},
		"low bits":               {[]string{labelBlock(eight, first)}, []string{labelBlock(eight, "\x40\x01\x01")}, 0, ""},
		"no label":               {[]string{labelBlock(eight, first)}, []string{labelBlock(eight, "\x00\x00\x00")}, 0, ""},
		"null":                   {[]string{labelBlock(eight, first)}, []string{labelBlock(eight, "\x00\x00\x01")}, 0, ""},
		"no label, RFC 8277":     {[]string{labelBlock(eight, first)}, []string{labelBlock(eight, "\x80\x00\x00")}, 0, ""},
		"no size":                {[]string{labelBlock(eight, first)}, []string{labelBlock("\x00\x00", "\x00\x00\x01")}, 0, ""},
		"another base":           {[]string{labelBlock(eight, first)}, []string{labelBlock(eight, second)}, 0, ""},
		"late":                   {[]string{labelBlock(eight, first), labelBlock(eight, second)}, []string{labelBlock(eight, first)}, 1, "replaced"},
		"late, then in force":    {[]string{labelBlock(eight, first), labelBlock(eight, second)}, []string{labelBlock(eight, first), labelBlock(eight, second)}, 0, "replaced"},
		"late twice":             {[]string{labelBlock(eight, first), labelBlock(eight, second)}, []string{labelBlock(eight, first), labelBlock(eight, first)}, 0, "replaced"},
		"back again":             {[]string{labelBlock(eight, first), labelBlock(eight, second), labelBlock(eight, first)}, []string{labelBlock(eight, first)}, 0, ""},
		"another size, late":     {[]string{labelBlock(eight, first), labelBlock("\x00\x10", first)}, []string{labelBlock(eight, first)}, 1, "replaced"},
		"same block, other bits": {[]string{labelBlock(eight, first), labelBlock(eight, "\x40\x01\x01")}, []string{labelBlock(eight, first)}, 0, ""},
		"never announced":        {nil, []string{labelBlock(eight, first)}, 0, "has not announced: 1"},
	} {
		e, p, other := limited(t)
		a := &wire.Attributes{NextHop: "\x0a\x00\x00\x01", RTs: "\x00\x02\xfd\xe8\x00\x00\x00\x01", Path: "\x40\x01\x01\x00\x40\x02\x00\x40\x05\x04\x00\x00\x00\x64"}
		for _, nlri := range c.announced {
			if err := e.Update(p, &wire.Update{Reach: []string{nlri}, Attributes: a}); err != nil {
				t.Fatal(err)
			}
		}
		for _, nlri := range c.withdrawn {
			if err := e.Update(p, &wire.Update{Unreach: []string{nlri}, Attributes: &wire.Attributes{}}); err != nil {
				t.Fatal(err)
			}
		}
		if n := holds(e, other.Name, "e0"); n != c.left {
			t.Errorf("%s: %d routes are left, not %d", name, n, c.left)
		}
		told := ""
		events, _ := e.Events.After(0)
		for _, event := range events {
			if event.Kind == "withdrawal-ignored" && event.Peer == p.Name {
				told += event.Text
			}
		}
		if c.event == "" && told != "" || !strings.Contains(told, c.event) {
			t.Errorf("%s: the event says %q", name, told)
		}
	}
}
