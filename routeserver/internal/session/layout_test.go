package session

import (
	"net/netip"
	"testing"
	"unsafe"
)

// TestLayoutOfTCPAO compares sizes and member offsets of the structures with those of linux/tcp.h.
func TestLayoutOfTCPAO(t *testing.T) {
	var a aoAdd
	var d aoDel
	var i aoInfo
	for name, c := range map[string][2]uintptr{
		"tcp_ao_add":           {unsafe.Sizeof(a), 288},
		"tcp_ao_add.alg_name":  {unsafe.Offsetof(a.Algorithm), 128},
		"tcp_ao_add.ifindex":   {unsafe.Offsetof(a.Interface), 192},
		"tcp_ao_add flags":     {unsafe.Offsetof(a.Flags), 196},
		"tcp_ao_add.prefix":    {unsafe.Offsetof(a.Prefix), 202},
		"tcp_ao_add.sndid":     {unsafe.Offsetof(a.Send), 203},
		"tcp_ao_add.rcvid":     {unsafe.Offsetof(a.Receive), 204},
		"tcp_ao_add.maclen":    {unsafe.Offsetof(a.MAC), 205},
		"tcp_ao_add.keyflags":  {unsafe.Offsetof(a.KeyFlags), 206},
		"tcp_ao_add.keylen":    {unsafe.Offsetof(a.KeyLength), 207},
		"tcp_ao_add.key":       {unsafe.Offsetof(a.Key), 208},
		"tcp_ao_del":           {unsafe.Sizeof(d), 144},
		"tcp_ao_del flags":     {unsafe.Offsetof(d.Flags), 132},
		"tcp_ao_del.prefix":    {unsafe.Offsetof(d.Prefix), 138},
		"tcp_ao_del.sndid":     {unsafe.Offsetof(d.Send), 139},
		"tcp_ao_del.rcvid":     {unsafe.Offsetof(d.Receive), 140},
		"tcp_ao_del.current":   {unsafe.Offsetof(d.Current), 141},
		"tcp_ao_del.rnext":     {unsafe.Offsetof(d.Next), 142},
		"tcp_ao_info_opt":      {unsafe.Sizeof(i), 48},
		"tcp_ao_info.current":  {unsafe.Offsetof(i.Current), 6},
		"tcp_ao_info.rnext":    {unsafe.Offsetof(i.Next), 7},
		"tcp_ao_info.pkt_good": {unsafe.Offsetof(i.Counters), 8},
	} {
		if c[0] != c[1] {
			t.Errorf("%s is at (or has) %d, not %d", name, c[0], c[1])
		}
	}
	four, bits := sockaddr(false, netip.MustParseAddr("192.0.2.1"))
	if four[0]+four[1] != 2 || four[4] != 192 || four[7] != 1 || bits != 32 {
		t.Errorf("IPv4: %v %d", four, bits)
	}
	six, bits := sockaddr(true, netip.MustParseAddr("2001:db8::7"))
	if six[0]+six[1] != 10 || six[8] != 0x20 || six[23] != 7 || bits != 128 {
		t.Errorf("IPv6: %v %d", six, bits)
	}
	mapped, bits := sockaddr(true, netip.MustParseAddr("192.0.2.1"))
	if mapped[0]+mapped[1] != 10 || mapped[18] != 0xff || mapped[20] != 192 || bits != 32 {
		t.Errorf("mapped: %v %d", mapped, bits)
	}
}
