package engine

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// BenchmarkAnnouncement has a PE announce a thousand MACs in an UPDATE and withdraw them, with permits and without.
// cpu-ns/route is the processor time for one route to come and go.
func BenchmarkAnnouncement(b *testing.B) {
	const routes = 1000
	for _, guarded := range []bool{false, true} {
		b.Run(fmt.Sprintf("permits=%v", guarded), func(b *testing.B) {
			store, err := ruleset.OpenStore(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close()
			e, err := New(Config{Name: "rs", ASN: 65000, RouterID: [4]byte{10, 255, 0, 1}}, store, nil)
			if err != nil {
				b.Fatal(err)
			}
			site := ruleset.Endpoint{Name: "e", Peer: "pe", Family: "l2vpn-evpn", RT: "65000:2", RD: "65000:2"}
			if guarded {
				site.Permits = ruleset.Permits{
					NextHops: ruleset.NewWords("10.0.0.1"), Prefixes: ruleset.NewWords("10.1.0.0/16", "2001:db8:1::/64"),
					MACs: ruleset.NewWords(sitesOwnMAC), MaxMACs: 2 * routes,
				}
			}
			d := &ruleset.Document{Generation: 1, Peers: []ruleset.Peer{{Name: "pe", Address: "10.0.0.1", ASN: 65000}}, Endpoints: []ruleset.Endpoint{site}}
			if _, err := e.Replace(d, false); err != nil {
				b.Fatal(err)
			}
			peer, _ := e.Set().Peer("pe")
			p := e.Up(peer, [4]byte{10, 0, 0, 1}, [wire.Families]bool{wire.EVPN: true})
			rt, _ := wire.ParseRT("65000:2")
			var nlris []string
			for i := range routes {
				host := fmt.Sprintf("%c%c", byte(i>>7), byte(i&0x7f))
				nlris = append(nlris, evpn(2, 2, noESI+noTag+"\x30\x02\x00\x00\x00"+host+"\x20\x0a\x01"+host+"\x00\x00\x07"))
			}
			b.ReportAllocs()
			begun := worked(b)
			for b.Loop() {
				a := &wire.Attributes{NextHop: "\x0a\x00\x00\x01", RTs: string(rt[:]), Path: "\x40\x01\x01\x00\x40\x02\x00\x40\x05\x04\x00\x00\x00\x64"}
				for _, u := range []*wire.Update{
					{Attributes: a, ReachFamily: wire.EVPN, Reach: nlris}, {Attributes: &wire.Attributes{}, UnreachFamily: wire.EVPN, Unreach: nlris},
				} {
					if err := e.Update(p, u); err != nil {
						b.Fatal(err)
					}
				}
			}
			if len(p.tally.Refused) > 0 {
				b.Fatal("its routes were in quarantine")
			}
			b.ReportMetric(float64(worked(b)-begun)/float64(b.N*routes), "cpu-ns/route")
		})
	}
}

// worked returns the processor time of this process so far: other processes on the machine do not count.
func worked(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkPermit measures Permit alone.
func BenchmarkPermit(b *testing.B) {
	set := permitted(b)
	site := set.Site("l2vpn-evpn")
	nlri := evpn(2, 2, noESI+noTag+"\x30\x02\x00\x00\x00\x00\x07\x20\x0a\x01\x00\x07\x00\x00\x07")
	b.ReportAllocs()
	for b.Loop() {
		if Permit(set, site, wire.EVPN, nlri) != "" {
			b.Fatal("it is not permitted")
		}
	}
}
