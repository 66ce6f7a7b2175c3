package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// TestAKeyGoesToTheEndpointThatComesToOwnItsRouteDistinguisher has two PEs announce a route whose route distinguisher
// belongs to no endpoint. When an endpoint of the second PE gets it, the second PE's route gets the key.
func TestAKeyGoesToTheEndpointThatComesToOwnItsRouteDistinguisher(t *testing.T) {
	w := newWorld(strict{t}, 1)
	defer w.close()
	d := &ruleset.Document{Generation: w.document.Generation + 1, Peers: slices.Clone(w.document.Peers)}
	for i := range d.Peers {
		d.Peers[i].ASN = 65000
		d.Endpoints = append(d.Endpoints, ruleset.Endpoint{
			Name: siteName(i), Peer: d.Peers[i].Name, Family: "vpnv4", RT: fmt.Sprintf("65000:%d", i+1), RD: fmt.Sprintf("65000:%d", i+1),
		})
	}
	d.Vcps = []ruleset.Vcp{{Name: "pool", Members: []string{"site0", "site1", "site2"}}}
	w.engine.ReceiptWait = time.Nanosecond
	w.must(w.engine.Replace(d, false))
	for _, name := range sortedKeys(w.speakers) {
		w.down(w.speakers[name])
	}
	w.document = d
	var families [wire.Families]bool
	families[wire.VPNv4] = true
	for i := range 3 {
		w.speakers[peerName(i)] = newSpeaker(w.t, w.engine, peerName(i), families, wire.Restart{})
	}
	list := []offer{w.offerOf(wire.VPNv4, "65000:9", 1)}
	for i := range 2 {
		s := w.speakers[peerName(i)]
		rts := []string{w.rt(i)}
		s.send(s.update(list, rts, along{}))
		w.say(s, list, rts, along{})
	}
	w.check("two announcements of one route")
	if have := w.adjOut("two announcements", "pe2")[list[0].text].announcer; have != "pe0" {
		t.Fatalf("not the first one's: %s", have)
	}
	site := d.Endpoints[1]
	site.RD = list[0].rd
	w.change(false, ruleset.Operation{Op: ruleset.SetEndpoint, Endpoint: &site})
}
