package control

import (
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
)

// process gives gauges of the process itself, under the names that they have in Prometheus' Go client.
func process(gauge func(name, help string, value any)) {
	read := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/sched/goroutines:goroutines"}}
	metrics.Read(read)
	gauge("go_gc_heap_live_bytes", "Heap that the last garbage collection found alive.", read[0].Value.Uint64())
	gauge("go_goroutines", "Goroutines that there are.", read[1].Value.Uint64())
	text, _ := os.ReadFile("/proc/self/statm")
	if words := strings.Fields(string(text)); len(words) > 1 {
		if pages, err := strconv.Atoi(words[1]); err == nil {
			gauge("process_resident_memory_bytes", "Resident memory.", pages*os.Getpagesize())
		}
	}
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		gauge("process_open_fds", "Open file descriptors.", len(files)-1) // but for the directory itself
	}
}
