package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Sample is the state of the route server at one moment.
type Sample struct {
	At          float64 `json:"at_s"`       // since the start
	RSS         float64 `json:"rss_mb"`     // resident memory
	Heap        float64 `json:"heap_mb"`    // live heap after the last garbage collection
	Goroutines  float64 `json:"goroutines"` //
	Descriptors float64 `json:"descriptors"`
	CPU         float64 `json:"cpu_percent"` // of one core, since the sample before
	Load        float64 `json:"load"`        // the machine's, over a minute
}

// sample takes a sample every second until the context ends.
func (r *Result) sample(ctx context.Context, c *Controller, d *daemon) {
	begin, tick := time.Now(), time.NewTicker(time.Second)
	defer tick.Stop()
	spent, last := ticks(d.command.Process.Pid), begin
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		text, err := c.call("GET", "/metrics", nil)
		if err != nil {
			c.region.broken(err)
			return
		}
		now, cpu := time.Now(), ticks(d.command.Process.Pid)
		s := Sample{At: now.Sub(begin).Seconds(), CPU: 100 * (cpu - spent) / now.Sub(last).Seconds(), Load: load()}
		spent, last = cpu, now
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			number, _ := strconv.ParseFloat(value, 64)
			switch name {
			case "process_resident_memory_bytes":
				s.RSS = number / (1 << 20)
			case "go_gc_heap_live_bytes":
				s.Heap = number / (1 << 20)
			case "go_goroutines":
				s.Goroutines = number
			case "process_open_fds":
				s.Descriptors = number
			}
		}
		r.Samples = append(r.Samples, s)
	}
}

// ticks returns a process's user and system time in seconds.
func ticks(pid int) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(text), ") ")
	words := strings.Fields(after)
	if len(words) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(words[11], 64)
	system, _ := strconv.ParseFloat(words[12], 64)
	return (user + system) / 100
}

func load() float64 {
	text, _ := os.ReadFile("/proc/loadavg")
	word, _, _ := strings.Cut(string(text), " ")
	one, _ := strconv.ParseFloat(word, 64)
	return one
}
