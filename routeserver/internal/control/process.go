package control

import (
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
)

// process gives gauges of the process itself, under the names that they have in Prometheus' Go client.
func process(x *exposition) {
	gauge := func(name, help string, value float64) {
		x.family = name
		x.head("gauge", help)
		x.sample(value)
	}
	read := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/sched/goroutines:goroutines"}}
	metrics.Read(read)
	gauge("go_gc_heap_live_bytes", "Heap that the last garbage collection found alive.", float64(read[0].Value.Uint64()))
	gauge("go_goroutines", "Goroutines that there are.", float64(read[1].Value.Uint64()))
	text, _ := os.ReadFile("/proc/self/statm")
	if words := strings.Fields(string(text)); len(words) > 1 {
		if pages, err := strconv.Atoi(words[1]); err == nil {
			gauge("process_resident_memory_bytes", "Resident memory.", float64(pages*os.Getpagesize()))
		}
	}
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		gauge("process_open_fds", "Open file descriptors.", float64(len(files)-1)) // but for the directory itself
	}
}
