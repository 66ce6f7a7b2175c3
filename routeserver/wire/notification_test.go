package wire

import (
	"strings"
	"testing"
)

func TestShutdownCommunication(t *testing.T) {
	long := strings.Repeat("ö", 200)
	for _, c := range []struct {
		subcode uint8
		reason  string
		data    string
	}{
		{AdminShutdown, "till 6", "\x06till 6"},
		{AdminReset, "", "\x00"},
		{AdminShutdown, long, "\xfe" + long[:254]}, // no half a letter
		{Deconfigured, "gone", ""},
	} {
		n := Shutdown(c.subcode, c.reason)
		if string(n.Data) != c.data {
			t.Errorf("%d %q: %q", c.subcode, c.reason, n.Data)
		}
		back := ParseNotification(n.Message()[HeaderLength:])
		if len(c.data) > 1 && !strings.Contains(back.Text, c.data[1:]) {
			t.Errorf("%d %q is read as %q", c.subcode, c.reason, back.Text)
		}
	}
}
