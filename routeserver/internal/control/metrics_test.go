package control_test

import (
	"flag"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"weft/routeserver/internal/bmp"
	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/rib"
)

// scrape reads the metrics with Prometheus' own parser and its rules for names and types.
func (h *house) scrape() map[string]*dto.MetricFamily {
	h.t.Helper()
	status, text := h.do("GET", "/metrics", "")
	if status != 200 {
		h.t.Fatalf("metrics: %d %s", status, text)
	}
	var parser expfmt.TextParser
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		h.t.Fatalf("%v in\n%s", err, text)
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		h.t.Fatal(err)
	}
	for _, p := range problems {
		h.t.Errorf("%s: %s", p.Metric, p.Text)
	}
	return families
}

// value returns the value of a metric with these labels, given as pairs, and whether it exists.
func value(families map[string]*dto.MetricFamily, name string, labels ...string) (v float64, there bool) {
	family := families["weft_routeserver_"+name]
	for _, m := range family.GetMetric() {
		matches := len(m.GetLabel()) == len(labels)/2
		for _, l := range m.GetLabel() {
			found := false
			for i := 0; i < len(labels); i += 2 {
				found = found || l.GetName() == labels[i] && l.GetValue() == labels[i+1]
			}
			matches = matches && found
		}
		if matches {
			return m.GetGauge().GetValue() + m.GetCounter().GetValue(), true
		}
	}
	return 0, false
}

// update has TestMetrics write testdata/metrics.txt (make references).
var update = flag.Bool("update", false, "write testdata/metrics.txt")

// inventory returns a line for each of our families, and for each of the process but its traffic, which not every kernel
// counts: its name, type and labels, and after a tab its help.
func inventory(families map[string]*dto.MetricFamily) string {
	var lines []string
	for name, family := range families {
		if !strings.HasPrefix(name, "weft_") && !strings.HasPrefix(name, "process_") || strings.HasPrefix(name, "process_network_") {
			continue
		}
		line := name + " " + strings.ToLower(family.GetType().String())
		for _, label := range family.GetMetric()[0].GetLabel() {
			line += " " + label.GetName()
		}
		lines = append(lines, line+"\t"+family.GetHelp()+"\n")
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// TestCountersBeginWithZero checks that each labelled counter is there before its first event: Prometheus' increase() sees
// nothing of a series that begins with 1.
func TestCountersBeginWithZero(t *testing.T) {
	h := build(t)
	h.must("PUT", "/v1/ruleset", rules, &struct{}{})
	families := h.scrape()
	zero := func(name string, labels ...string) {
		t.Helper()
		if got, there := value(families, name, labels...); !there || got != 0 {
			t.Errorf("%s%v is %v (%v) before any session", name, labels, got, there)
		}
	}
	for _, peer := range []string{"a", "b"} {
		for _, reason := range rib.Reasons {
			zero("peer_quarantined_total", "peer", peer, "reason", string(reason))
		}
		for _, name := range []string{"routes_announced", "routes_withdrawn", "routes_sent", "withdrawals_sent"} {
			zero("peer_"+name+"_total", "peer", peer, "family", "l2vpn-vpls")
		}
		zero("peer_sessions_lost_total", "peer", peer)
	}
	if got, there := value(families, "peer_routes_announced_total", "peer", "a", "family", "vpnv4"); there {
		t.Errorf("a family that no endpoint of the peer has: %v", got)
	}
}

// TestPeerWithoutEndpoints checks that a PE can be told apart that need not have a session yet.
func TestPeerWithoutEndpoints(t *testing.T) {
	h := build(t)
	h.must("PUT", "/v1/ruleset", rules, &struct{}{})
	h.must("POST", "/v1/changes", `{"base": 5, "generation": 6, "ops": [{"op": "remove-endpoint", "name": "eb"}]}`, &struct{}{})
	families := h.scrape()
	for peer, want := range map[string]float64{"a": 1, "b": 0} {
		if got, there := value(families, "peer_endpoints", "peer", peer); !there || got != want {
			t.Errorf("%s has %v endpoints (%v), not %v", peer, got, there, want)
		}
	}
	var status struct {
		Sessions []struct {
			Peer      string
			Endpoints int
		}
	}
	h.must("GET", "/v1/status", "", &status)
	for _, s := range status.Sessions {
		if want := map[string]int{"a": 1, "b": 0}[s.Peer]; s.Endpoints != want {
			t.Errorf("the status says %+v", s)
		}
	}
}

func TestMetrics(t *testing.T) {
	h := build(t)
	h.scrape() // without a rule set
	h.must("PUT", "/v1/ruleset", rules, &struct{}{})
	listener, err := net.Listen("tcp", "127.0.77.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(io.Discard, conn) }()
		}
	}()
	t.Cleanup(func() { listener.Close() })
	station := bmp.New(bmp.Config{Name: "rs1"}, listener.Addr().String(), h.engine, slog.New(slog.DiscardHandler))
	h.server.Stations = append(h.server.Stations, station)
	go station.Run(t.Context())

	a := petest.Dial(t, petest.Options{Local: "127.0.77.11", Remote: h.bgp})
	b := petest.Dial(t, petest.Options{Local: "127.0.77.12", Remote: h.bgp})
	n, foreign := petest.VPLS(t, "65000:1", 1, 1, 64, 4097), petest.VPLS(t, "65000:1", 9, 1, 64, 4097)
	a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{foreign}, []string{"65000:2"}))
	a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{n}, []string{"65000:1"}))
	b.Has(map[string]string{n.String(): "65000:2"})
	h.must("POST", "/v1/changes", `{"base": 5, "generation": 6, "ops": [{"op": "leave", "vcp": "pool", "endpoint": "eb"}]}`, &struct{}{})
	b.Has(map[string]string{})
	b.Send(bgp.NewBGPNotificationMessage(6, 2, nil))
	var families map[string]*dto.MetricFamily
	a.Until("the end of b, and all for the station", func() bool {
		families = h.scrape()
		lost, _ := value(families, "peer_last_error", "peer", "b", "class", "cease")
		up, _ := value(families, "bmp_up", "station", listener.Addr().String())
		return lost == 1 && up == 1
	})
	// Alerting rules and dashboards (deploy/monitoring) are tested against this file, and docs/reference/metrics.md is made
	// from it.
	if *update {
		if err := os.WriteFile("testdata/metrics.txt", []byte(inventory(families)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got := inventory(families); got != string(golden) {
		t.Errorf("testdata/metrics.txt differs from these metrics (make references):\n%s", got)
	}
	vpls := func(peer string) []string { return []string{"peer", peer, "family", "l2vpn-vpls"} }
	for _, c := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"generation", nil, 6},
		{"serving", nil, 1},
		{"peer_session_up", []string{"peer", "a"}, 1},
		{"peer_session_up", []string{"peer", "b"}, 0},
		{"peer_session_state", []string{"peer", "a"}, 6},
		{"peer_session_state", []string{"peer", "b"}, 3},
		{"peer_sessions_established_total", []string{"peer", "b"}, 1},
		{"peer_sessions_lost_total", []string{"peer", "b"}, 1},
		{"peer_sessions_lost_total", []string{"peer", "a"}, 0},
		{"peer_updates_received_total", []string{"peer", "a"}, 2},
		{"peer_routes_in", vpls("a"), 2},
		{"peer_routes_accepted", vpls("a"), 1},
		{"peer_routes_out", vpls("a"), 0},
		{"peer_routes_announced_total", vpls("a"), 2},
		{"peer_routes_sent_total", vpls("b"), 1},
		{"peer_withdrawals_sent_total", vpls("b"), 1},
		{"peer_routes_quarantined", []string{"peer", "a", "reason", "foreign-rt"}, 1},
		{"peer_quarantined_total", []string{"peer", "a", "reason", "foreign-rt"}, 1},
		{"peer_backlog", []string{"peer", "a"}, 0},
		{"peer_routes_stale", []string{"peer", "a"}, 0},
		{"last_change_peers", nil, 1},
		{"last_change_routes", []string{"action", "withdrawn"}, 1},
		{"bmp_connections_total", []string{"station", listener.Addr().String()}, 1},
	} {
		if got, there := value(families, c.name, c.labels...); !there || got != c.want {
			t.Errorf("%s%v is %v (%v), not %v", c.name, c.labels, got, there, c.want)
		}
	}
	if at, _ := value(families, "last_change_timestamp_seconds"); time.Since(time.UnixMicro(int64(at*1e6))) > time.Minute {
		t.Errorf("the last change was at %v", at)
	}
	var status struct{ Bmp []bmp.Status }
	if h.must("GET", "/v1/status", "", &status); len(status.Bmp) != 1 || status.Bmp[0].State != bmp.Monitoring || status.Bmp[0].Messages == 0 {
		t.Errorf("stations %+v", status.Bmp)
	}
	histogram := families["weft_routeserver_change_duration_seconds"].GetMetric()[0].GetHistogram()
	if last := histogram.GetBucket()[len(histogram.GetBucket())-1]; histogram.GetSampleCount() != 2 || last.GetCumulativeCount() != 2 || histogram.GetSampleSum() <= 0 {
		t.Errorf("of two changes: %v", histogram)
	}
}
