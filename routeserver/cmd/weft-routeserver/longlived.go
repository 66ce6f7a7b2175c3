package main

import (
	"fmt"
	"strings"
	"time"

	"weft/routeserver/internal/wire"
)

// longLived reads --long-lived-stale-time: one time for all families, or some families with a time for each.
func longLived(text string) (times [wire.Families]time.Duration, err error) {
	single := !strings.Contains(text, "=")
	for _, part := range strings.Split(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		if single {
			value = text
		}
		d, err := time.ParseDuration(value)
		if err != nil || d != 0 && (d < time.Second || d > wire.MaxLongStale) {
			return times, fmt.Errorf("--long-lived-stale-time: %q is not a time between 1s and %ds, nor 0", value, wire.MaxLongStale/time.Second)
		}
		if single {
			for f := range wire.RTC {
				times[f] = d
			}
			return times, nil
		}
		f, err := wire.ParseFamily(name)
		if err != nil || f == wire.RTC {
			return times, fmt.Errorf("--long-lived-stale-time: %q is not a family whose routes this route server carries", name)
		}
		times[f] = d
	}
	return times, nil
}
