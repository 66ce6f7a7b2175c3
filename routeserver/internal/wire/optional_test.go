package wire

import (
	"bytes"
	"errors"
	"testing"
)

func openBody(version byte, parameters ...byte) []byte {
	return append([]byte{version, 0xfd, 0xe8, 0, 90, 10, 0, 0, 1}, parameters...)
}

var evpn = []byte{1, 4, 0, 25, 0, 70}

func TestOptionalParameters(t *testing.T) {
	as4 := []byte{65, 4, 0, 0, 0xfd, 0xe8}
	many := bytes.Repeat(append([]byte{99, 200}, make([]byte, 200)...), 4) // 808 bytes
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for name, parameters := range map[string][]byte{
		"one parameter":                 join([]byte{14, 2, 12}, evpn, as4),
		"one for each capability":       join([]byte{16, 2, 6}, evpn, []byte{2, 6}, as4),
		"one that fills them":           join([]byte{255, 2, 253}, evpn, as4, []byte{98, 239}, make([]byte, 239)),
		"extended":                      join([]byte{255, 255, 0, 15, 2, 0, 12}, evpn, as4),
		"extended, though the length 7": join([]byte{7, 255, 0, 15, 2, 0, 12}, evpn, as4),
		"extended, longer than 255":     join([]byte{255, 255, 0x03, 0x37, 2, 0x03, 0x34}, evpn, as4, many),
		"extended, for each capability": join([]byte{255, 255, 0, 18, 2, 0, 6}, evpn, []byte{2, 0, 6}, as4),
		"and an empty parameter":        join([]byte{16, 2, 0, 2, 12}, evpn, as4),
	} {
		o, err := ParseOpen(openBody(4, parameters...))
		if err != nil || !o.Families[EVPN] || !o.FourOctet || o.ASN != 65000 || o.HoldTime != 90 {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
	}
	if o, err := ParseOpen(openBody(4, 0)); err != nil || o.FourOctet {
		t.Errorf("none: %+v, %v", o, err)
	}
	for name, c := range map[string]struct {
		body    []byte
		subcode uint8
		data    string
	}{
		"version 3":                          {openBody(3, 0), BadVersion, "\x00\x04"},
		"authentication (RFC 1771)":          {openBody(4, 3, 1, 1, 0), BadParameter, ""},
		"another parameter, extended":        {openBody(4, 255, 255, 0, 4, 9, 0, 1, 0), BadParameter, ""},
		"longer than there is":               {openBody(4, 20, 2, 2, 2, 0), 0, ""},
		"more than there should be":          {openBody(4, 4, 2, 2, 2, 0, 7), 0, ""},
		"a parameter longer than all":        {openBody(4, 4, 2, 9, 2, 0), 0, ""},
		"half a parameter":                   {openBody(4, 1, 2), 0, ""},
		"half a capability":                  {openBody(4, 3, 2, 1, 2), 0, ""},
		"a capability longer than its space": {openBody(4, 4, 2, 2, 2, 9), 0, ""},
		"an empty multiprotocol capability":  {openBody(4, 4, 2, 2, 1, 0), 0, ""},
		"extended, longer than there is":     {openBody(4, 255, 255, 9, 0, 2, 0, 2, 2, 0), 0, ""},
		"extended, half a header":            {openBody(4, 255, 255, 0, 2, 2, 0), 0, ""},
	} {
		_, err := ParseOpen(c.body)
		var n *Notification
		if !errors.As(err, &n) || n.Code != OpenError || n.Subcode != c.subcode || string(n.Data) != c.data {
			t.Errorf("%s: %v", name, err)
		}
	}
}
