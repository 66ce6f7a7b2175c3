package control_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/petest"
)

type counted struct {
	Peer, State string
	Routes      struct {
		In, Accepted, Out, Quarantined, Withheld, Held map[string]int
		Bytes                                          int
	}
	Totals struct {
		Sessions    int
		Updates     int            `json:"updates_received"`
		Announced   map[string]int `json:"routes_announced"`
		Withdrawn   map[string]int `json:"routes_withdrawn"`
		Sent        map[string]int `json:"routes_sent"`
		Unsent      map[string]int `json:"withdrawals_sent"`
		Quarantined map[string]int
	}
}

func TestCounts(t *testing.T) {
	h, a, b, c := mesh(t)
	first, second := petest.MAC(t, "65000:1", "02:00:00:00:00:01", "", 10000), petest.MAC(t, "65000:1", "02:00:00:00:00:02", "", 10000)
	a.Send(petest.Announcement(t, bgp.RF_EVPN, []bgp.NLRI{first, second}, []string{"65000:1"}))
	a.Send(petest.Announcement(t, bgp.RF_EVPN, []bgp.NLRI{petest.MAC(t, "65000:1", "02:00:00:00:00:03", "", 10000)}, []string{"65000:2"}))
	a.Send(petest.Withdrawal(t, bgp.RF_EVPN, []bgp.NLRI{second}))
	c.Until("the withdrawal", func() bool {
		return len(b.Routes()) == 1 && h.engine.PeerViews()[0].In == 2 && h.engine.PeerViews()[2].Out == 1
	})
	type pageOf struct {
		Peers []counted
		Next  *string
	}
	get := func(query string) (page pageOf) {
		h.must("GET", "/v1/counts?"+query, "", &page)
		return page
	}
	page := get("peer=a")
	if len(page.Peers) != 1 || page.Next != nil {
		t.Fatalf("one peer: %+v", page)
	}
	n := page.Peers[0]
	if n.Peer != "a" || n.State != "established" || n.Routes.In["l2vpn-evpn"] != 2 || n.Routes.Accepted["l2vpn-evpn"] != 1 || n.Routes.Quarantined["foreign-rt"] != 1 ||
		n.Routes.Bytes == 0 || n.Totals.Announced["l2vpn-evpn"] != 3 || n.Totals.Withdrawn["l2vpn-evpn"] != 1 || n.Totals.Quarantined["foreign-rt"] != 1 || n.Totals.Sessions != 1 {
		t.Errorf("a: %+v", n)
	}
	page = get("peer=b")
	if n := page.Peers[0]; n.Routes.Out["l2vpn-evpn"] != 1 || n.Totals.Sent["l2vpn-evpn"] != 2 || n.Totals.Unsent["l2vpn-evpn"] != 1 || n.Routes.Withheld["l2vpn-evpn"] != 0 {
		t.Errorf("b: %+v", n)
	}
	var names []string
	for next := ""; ; next = *page.Next {
		page = get("limit=3&cursor=" + next)
		for _, p := range page.Peers {
			names = append(names, p.Peer)
		}
		if page.Next == nil {
			break
		}
	}
	if !slices.Equal(names, []string{"a", "b", "c", "v"}) {
		t.Errorf("the pages have %v", names)
	}
	page = get("peer=v")
	if n := page.Peers[0]; n.State != "active" || len(n.Routes.In) != 0 || n.Routes.Quarantined == nil || n.Totals.Quarantined == nil {
		t.Errorf("v: %+v", n)
	}
	for path, want := range map[string]int{"?peer=zz": http.StatusNotFound, "?limit=0": http.StatusBadRequest, "?cursor=x": http.StatusBadRequest, "?pear=a": http.StatusBadRequest} {
		if status, text := h.do("GET", "/v1/counts"+path, ""); status != want {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}
