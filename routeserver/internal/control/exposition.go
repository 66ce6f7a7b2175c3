package control

import (
	"net/http"
	"regexp"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// scrapes is the number of scrapes that may be answered at the same time.
const scrapes = 4

// namespace is the prefix of our metrics' names.
const namespace = "weft_routeserver_"

// exposition collects the samples of one scrape, family after family.
type exposition struct {
	out    chan<- prometheus.Metric
	family string
	help   string
	kind   prometheus.ValueType
	desc   *prometheus.Desc // of the family; nil before its first sample
}

// begin begins a family, with its name without the namespace and its type.
func (x *exposition) begin(name string, kind prometheus.ValueType, help string) {
	x.family, x.kind, x.help, x.desc = namespace+name, kind, help, nil
}

// sample adds a value to the family, with labels as pairs of name and value; the names are the same for all its samples.
func (x *exposition) sample(value float64, labels ...string) {
	names, values := make([]string, 0, len(labels)/2), make([]string, 0, len(labels)/2)
	for i := 0; i < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, labels[i+1])
	}
	if x.desc == nil {
		x.desc = prometheus.NewDesc(x.family, x.help, names, nil)
	}
	metric, err := prometheus.NewConstMetric(x.desc, x.kind, value, values...)
	x.send(x.desc, metric, err)
}

// send passes on a metric. One that could not be made fails the scrape, but not the route server.
func (x *exposition) send(desc *prometheus.Desc, metric prometheus.Metric, err error) {
	if err != nil {
		metric = prometheus.NewInvalidMetric(desc, err)
	}
	x.out <- metric
}

// gauge and counter write families of one sample.
func (x *exposition) gauge(name, help string, value float64) {
	x.begin(name, prometheus.GaugeValue, help)
	x.sample(value)
}

func (x *exposition) counter(name, help string, value uint64) {
	x.begin(name, prometheus.CounterValue, help)
	x.sample(float64(value))
}

// histogram writes a family of one distribution; buckets are cumulative, by their upper bounds.
func (x *exposition) histogram(name, help string, count uint64, sum float64, buckets map[float64]uint64) {
	desc := prometheus.NewDesc(namespace+name, help, nil, nil)
	metric, err := prometheus.NewConstHistogram(desc, count, sum, buckets)
	x.send(desc, metric, err)
}

// scrape is a collector that asks the server for all samples at each scrape.
type scrape struct{ server *Server }

// Describe sends nothing: the families depend on peers and stations.
func (scrape) Describe(chan<- *prometheus.Desc) {}

func (c scrape) Collect(out chan<- prometheus.Metric) { c.server.collect(&exposition{out: out}) }

// heap is the live heap after the last garbage collection, which the default set of Go's metrics lacks.
var heap = collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(`^/gc/heap/live:bytes$`)}

// metrics serves the samples in the format that the scraper asks for.
func (s *Server) metrics() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(scrape{s}, collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(heap)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: scrapes})
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
