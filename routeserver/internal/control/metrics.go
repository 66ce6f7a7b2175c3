package control

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weft/routeserver/internal/bmp"
)

// collect writes all samples.
func (s *Server) collect(x *exposition) {
	generation, _, confirmed := s.Engine.Generation()
	x.gauge("generation", "Generation of the rule set in force.", float64(generation))
	x.gauge("confirmed", "1 if the controller has confirmed the generation since the start.", number(confirmed))
	x.gauge("in_touch", "1 if the controller was heard of in the last five seconds.", number(s.Engine.InTouch()))
	x.gauge("serving", "1 if BGP sessions are accepted.", number(s.Sessions.Serving()))
	x.gauge("restarting", "1 while End-of-RIB is held back after the route server's own restart.", number(s.Engine.Restarting()))
	x.gauge("start_time_seconds", "When the route server started, in seconds since 1970.", seconds(s.Started))
	s.changeMetrics(x)
	totals := counters(s.Engine.Counters())
	for _, name := range slices.Sorted(maps.Keys(totals)) {
		x.counter(name+"_total", "Total since the start: "+strings.ReplaceAll(name, "_", " ")+".", totals[name])
	}
	peerMetrics(x, s.sessions())
	stationMetrics(x, s.stations())
}

// changeMetrics writes samples about transactions: changes of the rule set, replacements and rollbacks.
func (s *Server) changeMetrics(x *exposition) {
	d := s.Engine.Durations()
	all, buckets := uint64(0), map[float64]uint64{}
	for i, bound := range d.Bounds {
		buckets[bound] = d.Counts[i]
		all = d.Counts[len(d.Bounds)]
	}
	x.histogram("change_duration_seconds", "Time from a change of the rule set to its last message on its way.", all, d.Sum, buckets)
	if d.Last == nil {
		return
	}
	x.gauge("last_change_timestamp_seconds", "When the generation in force came into force, in seconds since 1970.", seconds(d.LastAt))
	x.gauge("last_change_duration_seconds", "How long that took until its last message was on its way.", float64(d.Last.Micros)/1e6)
	x.gauge("last_change_peers", "Peers that were sent something for it.", float64(len(d.Last.Peers)))
	x.begin("last_change_routes", prometheus.GaugeValue, "Routes that were announced and withdrawn for it.")
	x.sample(float64(d.Last.Announced), "action", "announced")
	x.sample(float64(d.Last.Withdrawn), "action", "withdrawn")
}

// stationMetrics writes samples about BMP.
func stationMetrics(x *exposition, stations []bmp.Status) {
	for _, m := range []struct {
		name  string
		kind  prometheus.ValueType
		help  string
		value func(bmp.Status) float64
	}{
		{"up", prometheus.GaugeValue, "1 if the station has all tables and gets the changes.", func(s bmp.Status) float64 { return number(s.State == bmp.Monitoring) }},
		{"connections_total", prometheus.CounterValue, "Connections to the station.", func(s bmp.Status) float64 { return float64(s.Connections) }},
		{"cut_off_total", prometheus.CounterValue, "Connections that were ended because the station was too slow.", func(s bmp.Status) float64 { return float64(s.CutOff) }},
		{"messages_total", prometheus.CounterValue, "Messages to the station.", func(s bmp.Status) float64 { return float64(s.Messages) }},
		{"sent_bytes_total", prometheus.CounterValue, "Bytes to the station.", func(s bmp.Status) float64 { return float64(s.Bytes) }},
		{"backlog", prometheus.GaugeValue, "Entries that wait for the station.", func(s bmp.Status) float64 { return float64(s.Backlog) }},
	} {
		if len(stations) == 0 {
			return
		}
		x.begin("bmp_"+m.name, m.kind, m.help)
		for _, s := range stations {
			x.sample(m.value(s), "station", s.Address)
		}
	}
}

// seconds returns a time in Prometheus' form.
func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
