package control_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/petest"
)

// TestRefresh checks that operators get a PE's routes again, and send it ours, and that nobody can do so all the time.
func TestRefresh(t *testing.T) {
	h := build(t)
	h.must("PUT", "/v1/ruleset", rules, &struct{}{})
	refresh := func(peer, body string) (int, string) { return h.do("POST", "/v1/peers/"+peer+"/refresh", body) }
	if status, text := refresh("a", ""); status != http.StatusConflict || !strings.Contains(text, "no-session") {
		t.Errorf("without a session: %d %s", status, text)
	}
	a := petest.Dial(t, petest.Options{Local: "127.0.77.11", Remote: h.bgp})
	b := petest.Dial(t, petest.Options{Local: "127.0.77.12", Remote: h.bgp})
	n := petest.VPLS(t, "65000:1", 1, 1, 64, 4097)
	a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{n}, []string{"65000:1"}))
	b.Has(map[string]string{n.String(): "65000:2"})
	for body, want := range map[string]string{
		`{"direction": "up"}`:        "not in, out or both",
		`{"family": "ipv4"}`:         "family",
		`{"way": "in"}`:              "JSON object",
		`{"family": "vpnv4"}`:        "does not carry vpnv4",
		`{"family": "ipv4-flowspec"`: "JSON object",
	} {
		if status, text := refresh("a", body); status != http.StatusBadRequest && status != http.StatusConflict || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
	if status, _ := refresh("nobody", ""); status != http.StatusNotFound {
		t.Errorf("of nobody: %d", status)
	}
	if len(a.Refreshes()) > 0 {
		t.Fatalf("a was sent %v", a.Refreshes())
	}

	// Inbound: it is asked for each family that its session carries.
	var done struct {
		Asked, Resent []string
		Enhanced      bool
	}
	h.must("POST", "/v1/peers/a/refresh", "", &done)
	if want := []string{"l2vpn-vpls", "l2vpn-evpn"}; !slices.Equal(done.Asked, want) || len(done.Resent) > 0 || !done.Enhanced {
		t.Errorf("it was answered %+v", done)
	}
	a.Until("the requests", func() bool { return slices.Equal(a.RefreshesLocked(), []uint8{0, 0}) })
	if status, text := refresh("a", `{"family": "l2vpn-vpls"}`); status != http.StatusTooManyRequests || !strings.Contains(text, "too-soon") {
		t.Errorf("at once again: %d %s", status, text)
	}

	// Outbound: it is sent everything once more, between the marks of RFC 7313.
	before := len(b.Updates())
	h.must("POST", "/v1/peers/b/refresh", `{"direction": "out", "family": "l2vpn-vpls"}`, &done)
	b.Until("the routes again", func() bool {
		return len(b.Locked()) == before+1 && slices.Equal(b.RefreshesLocked(), []uint8{1, 2})
	})
	h.must("POST", "/v1/peers/b/refresh", `{"direction": "both", "family": "l2vpn-evpn"}`, &done)
	b.Until("the request", func() bool { return slices.Equal(b.RefreshesLocked(), []uint8{1, 2, 0, 1, 2}) })
	events, _ := h.engine.Events.After(0)
	told := 0
	for _, e := range events {
		if e.Kind == "refresh" {
			told++
		}
	}
	if told != 3 {
		t.Errorf("%d events of 3 refreshes", told)
	}
}

// TestRefreshNeedsTheCapability checks that a PE without route refresh is not asked, which would end its session, but can be
// sent its routes again.
func TestRefreshNeedsTheCapability(t *testing.T) {
	h := build(t)
	h.must("PUT", "/v1/ruleset", rules, &struct{}{})
	a := petest.Dial(t, petest.Options{Local: "127.0.77.11", Remote: h.bgp, Families: []bgp.Family{bgp.RF_VPLS}, Capabilities: []bgp.ParameterCapabilityInterface{
		bgp.NewCapMultiProtocol(bgp.RF_VPLS), bgp.NewCapFourOctetASNumber(65000),
	}})
	for _, body := range []string{`{"direction": "in"}`, `{"direction": "both"}`} {
		if status, text := h.do("POST", "/v1/peers/a/refresh", body); status != http.StatusConflict || !strings.Contains(text, "not-capable") || !strings.Contains(text, "reset") {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
	var done struct{ Enhanced bool }
	h.must("POST", "/v1/peers/a/refresh", `{"direction": "out"}`, &done)
	if done.Enhanced || len(a.Refreshes()) > 0 {
		t.Errorf("it was sent marks that it does not know: %v", a.Refreshes())
	}
}
