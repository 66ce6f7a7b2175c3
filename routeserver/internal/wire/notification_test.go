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
		{AdminShutdown, long, "\xfe" + long[:254]}, // not half a letter
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

func TestHardReset(t *testing.T) {
	n := Shutdown(AdminShutdown, "till 6").Harden()
	if got := string(n.Message()[HeaderLength:]); got != "\x06\x09\x06\x02\x06till 6" {
		t.Errorf("encoded %q", got)
	}
	back := ParseNotification(n.Message()[HeaderLength:])
	if !back.Hard || back.Subcode != AdminShutdown || back.Text != `"till 6"` || !strings.Contains(back.Error(), "hard reset") {
		t.Errorf("read as %+v", back)
	}
	for _, body := range []string{"\x06\x09", "\x06\x09\x06", "\x06\x09till 6"} {
		if n := ParseNotification([]byte(body)); !n.Hard || n.Subcode != HardReset || string(n.Message()[HeaderLength:]) != body {
			t.Errorf("%q is read as %+v", body, n)
		}
	}
}
