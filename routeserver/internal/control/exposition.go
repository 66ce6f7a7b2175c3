package control

import (
	"strconv"
	"strings"
)

// namespace is what the names of our metrics begin with.
const namespace = "weft_routeserver_"

// exposition is a page in Prometheus' text format, version 0.0.4. All samples of a family follow each other.
type exposition struct {
	b      strings.Builder
	family string
}

// begin begins a family: its name without the namespace, and its type.
func (x *exposition) begin(name, kind, help string) {
	x.family = namespace + name
	x.head(kind, help)
}

func (x *exposition) head(kind, help string) {
	x.b.WriteString("# HELP " + x.family + " " + help + "\n# TYPE " + x.family + " " + kind + "\n")
}

// sample adds a value to the family, with labels as pairs of name and value.
func (x *exposition) sample(value float64, labels ...string) { x.suffixed("", value, labels...) }

func (x *exposition) suffixed(suffix string, value float64, labels ...string) {
	x.b.WriteString(x.family + suffix)
	for i := 0; i < len(labels); i += 2 {
		x.b.WriteByte("{,"[min(i, 1)])
		x.b.WriteString(labels[i] + `="` + escapes.Replace(labels[i+1]) + `"`)
	}
	if len(labels) > 0 {
		x.b.WriteByte('}')
	}
	x.b.WriteString(" " + strconv.FormatFloat(value, 'f', -1, 64) + "\n")
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// gauge and counter are families of one sample.
func (x *exposition) gauge(name, help string, value float64) {
	x.begin(name, "gauge", help)
	x.sample(value)
}

func (x *exposition) counter(name, help string, value uint64) {
	x.begin(name, "counter", help)
	x.sample(float64(value))
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
