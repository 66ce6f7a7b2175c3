package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

func machine() string {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return fmt.Sprintf("%d cores, Linux %s, %s", runtime.NumCPU(), strings.TrimSpace(string(kernel)), runtime.Version())
}

// loadAverage returns the load average of the last five minutes.
func loadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg")
	words := strings.Fields(string(text))
	if len(words) < 2 {
		return "unknown"
	}
	return words[1]
}

func (r Result) line() string {
	if r.Error != "" {
		return fmt.Sprintf("%-20s %-14s failed: %s", r.Size, r.Daemon, r.Error)
	}
	return fmt.Sprintf("%-20s %-14s converged %.1f ms, change p50 %.2f p99 %.2f ms (%d), withdrawal %.1f, flap %.1f + %.1f ms, %.0f MB, %.2f CPU s",
		r.Size, r.Daemon, r.Converged, r.P50, r.P99, r.Made, r.Withdrawal, r.FlapDown, r.FlapUp, r.Peak, r.CPU)
}

// up returns the time of a flap's second half, or "never".
func (r Result) up() string {
	if r.NeverUp != "" {
		return "never"
	}
	return fmt.Sprintf("%.1f", r.FlapUp)
}

// table returns all results in Markdown; ratios are to the bare sender and to weft, in the same run.
func table(results []Result) string {
	var t strings.Builder
	t.WriteString("| PEs / routes / pool | daemon | convergence ms | × bare sender | change p50 / p99 ms (changes) | × weft (p50) | withdrawal ms | flap down / up ms | peak MB | CPU s |\n" +
		"| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: |\n")
	base := map[Size]map[string]Result{}
	for _, r := range results {
		if base[r.Size] == nil {
			base[r.Size] = map[string]Result{}
		}
		base[r.Size][r.Daemon] = r
	}
	ratio := func(a, b float64) string {
		if a == 0 || b == 0 {
			return "–"
		}
		return fmt.Sprintf("%.1f", a/b)
	}
	for _, r := range results {
		size := strings.ReplaceAll(r.Size.String(), "/", " / ")
		b := base[r.Size]
		switch {
		case r.Error != "":
			text := strings.NewReplacer("\n", " ", "|", "\\|").Replace(r.Error)
			fmt.Fprintf(&t, "| %s | %s | failed: %s ||||||||\n", size, r.Daemon, text)
		case r.Made == 0:
			fmt.Fprintf(&t, "| %s | %s | %.1f | 1 | – | – | – | – | %.0f | %.2f |\n", size, r.Daemon, r.Converged, r.Peak, r.CPU)
		default:
			fmt.Fprintf(&t, "| %s | %s | %.1f | %s | %.2f / %.2f (%d) | %s | %.1f | %.1f / %s | %.0f | %.2f |\n", size, r.Daemon, r.Converged,
				ratio(r.Converged, b["bare"].Converged), r.P50, r.P99, r.Made, ratio(r.P50, b["weft"].P50), r.Withdrawal, r.FlapDown, r.up(), r.Peak, r.CPU)
		}
	}
	return t.String()
}
