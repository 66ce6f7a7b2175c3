package control_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/petest"
)

// watch opens a stream and returns its changes as "kind peer>to rts nlri-rd", in order.
func (h *house) watch(query string) <-chan string {
	h.t.Helper()
	request, _ := http.NewRequestWithContext(h.t.Context(), "GET", h.url+"/v1/watch?"+query, nil)
	request.Header.Set("Authorization", "Bearer secret")
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { reply.Body.Close() })
	lines := bufio.NewScanner(reply.Body)
	if !lines.Scan() || lines.Text() != ": watching" {
		h.t.Fatalf("the stream begins with %q", lines.Text())
	}
	changes := make(chan string, 100)
	go func() {
		defer close(changes)
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var c struct {
				Kind, Peer, To, Reason string
				RTs                    []string
				Details                map[string]any
			}
			if err := json.Unmarshal([]byte(data), &c); err != nil {
				changes <- err.Error()
				return
			}
			changes <- strings.TrimSpace(fmt.Sprintf("%s %s>%s %s %v %s", c.Kind, c.Peer, c.To, strings.Join(c.RTs, ","), c.Details["ve_id"], c.Reason))
		}
	}()
	return changes
}

func expect(t *testing.T, changes <-chan string, want ...string) {
	t.Helper()
	var have []string
	for range want {
		have = append(have, <-changes)
	}
	if !slices.Equal(have, want) {
		t.Errorf("have\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
}

func TestWatchTellsWhatHappensToRoutes(t *testing.T) {
	h := build(t)
	h.must("PUT", "/v1/ruleset", rules, &struct{}{})
	all, toB, foreign := h.watch(""), h.watch("peer=b"), h.watch("rt=65000:2&family=l2vpn-vpls&endpoint=ea&pool=pool")
	ofB := h.watch("endpoint=eb")
	none := []<-chan string{h.watch("family=l2vpn-evpn"), h.watch("prefix=10.0.0.0/8"), h.watch("mac=02:00:00:00:00:01"), h.watch("pool=other")}
	a := petest.Dial(t, petest.Options{Local: "127.0.77.11", Remote: h.bgp})
	b := petest.Dial(t, petest.Options{Local: "127.0.77.12", Remote: h.bgp})
	a.Until("both sessions", func() bool { v := h.engine.PeerViews(); return v[0].Up && v[1].Up })
	n := petest.VPLS(t, "65000:1", 1, 1, 64, 4097)
	a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{n}, []string{"65000:1"}))
	b.Has(map[string]string{n.String(): "65000:2"})
	expect(t, all, "announced a> 65000:1 1", "sent a>b 65000:2 1")
	expect(t, toB, "sent a>b 65000:2 1")
	expect(t, foreign, "sent a>b 65000:2 1")

	h.must("POST", "/v1/changes", `{"base": 5, "generation": 6, "ops": [{"op": "leave", "vcp": "pool", "endpoint": "eb"}]}`, &struct{}{})
	expect(t, all, "unsent a>b 65000:2 1")
	h.must("POST", "/v1/changes", `{"base": 6, "generation": 7, "ops": [{"op": "join", "vcp": "pool", "endpoint": "eb"}]}`, &struct{}{})
	expect(t, all, "sent a>b 65000:2 1")
	expect(t, toB, "unsent a>b 65000:2 1", "sent a>b 65000:2 1")
	expect(t, foreign, "unsent a>b 65000:2 1", "sent a>b 65000:2 1")

	a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{n}, []string{"65000:2"}))
	b.Has(map[string]string{})
	expect(t, all, "quarantined a> 65000:2 1 foreign-rt", "unsent a>b 65000:2 1")
	expect(t, ofB, "quarantined a> 65000:2 1 foreign-rt") // with its route target
	a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{n}, []string{"65000:1"}))
	b.Has(map[string]string{n.String(): "65000:2"})
	expect(t, all, "announced a> 65000:1 1", "sent a>b 65000:2 1")
	a.Conn.Close()
	b.Has(map[string]string{})
	expect(t, all, "withdrawn a> 65000:1 1", "unsent a>b 65000:2 1")
	for i, w := range none {
		select {
		case c := <-w:
			t.Errorf("filter %d lets %q through", i, c)
		default:
		}
	}
}

func TestRoutesByPoolPrefixAndMAC(t *testing.T) {
	h := build(t)
	h.must("PUT", "/v1/ruleset", strings.ReplaceAll(rules, "l2vpn-vpls", "l2vpn-evpn"), &struct{}{})
	a := petest.Dial(t, petest.Options{Local: "127.0.77.11", Remote: h.bgp})
	b := petest.Dial(t, petest.Options{Local: "127.0.77.12", Remote: h.bgp})
	nlris := []bgp.NLRI{petest.MAC(t, "65000:1", "02:00:00:00:00:0a", "10.1.0.10", 100), petest.MAC(t, "65000:1", "02:00:00:00:00:0b", "10.2.0.11", 100)}
	a.Send(petest.Announcement(t, bgp.RF_EVPN, nlris, []string{"65000:1"}))
	b.Has(map[string]string{nlris[0].String(): "65000:2", nlris[1].String(): "65000:2"})
	for query, want := range map[string]string{
		"mac=02:00:00:00:00:0A": "10.1.0.10", "prefix=10.1.0.0/16": "10.1.0.10", "prefix=10.2.0.11/32": "10.2.0.11",
		"prefix=10.0.0.0/8&pool=pool": "10.1.0.10 10.2.0.11", "pool=other": "", "prefix=10.3.0.0/16": "", "prefix=2001:db8::/32": "",
		"prefix=10.1.0.0/16&mac=02:00:00:00:00:0b": "",
	} {
		for _, table := range []string{"adj-in", "adj-out"} {
			var list struct {
				Routes []struct{ Details struct{ IP string } }
			}
			h.must("GET", "/v1/routes?table="+table+"&"+query, "", &list)
			var have []string
			for _, r := range list.Routes {
				have = append(have, r.Details.IP)
			}
			if slices.Sort(have); strings.Join(have, " ") != want {
				t.Errorf("%s %s: %v, want %s", table, query, have, want)
			}
		}
	}
	for _, query := range []string{"prefix=10.1.0.1/16", "prefix=x", "mac=x", "mac=02:00:00:00:00:00:00:01"} {
		if status, _ := h.do("GET", "/v1/routes?"+query, ""); status != 400 {
			t.Errorf("%s: %d", query, status)
		}
	}
	if status, _ := h.do("GET", "/v1/watch?table=adj-in", ""); status != 400 {
		t.Errorf("a stream of a table: %d", status)
	}
}
