package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Size is the size of a region.
type Size struct {
	PEs    int    `json:"pes"`
	Routes int    `json:"routes"`
	Pool   int    `json:"pool"` // members of a pool
	Family string `json:"family"`
}

// String returns the size as the command line takes it.
func (s Size) String() string {
	text := fmt.Sprintf("%d/%d/%d", s.PEs, s.Routes, s.Pool)
	if s.Family != "vpnv4" {
		text += "/" + s.Family
	}
	return text
}

// usual returns the sizes that bench measures if the command line gives none.
func usual(quick bool) []Size {
	if quick {
		return []Size{{10, 1000, 10, "vpnv4"}, {10, 10000, 10, "vpnv4"}, {100, 1000, 10, "vpnv4"}, {100, 10000, 10, "vpnv4"}}
	}
	var plan []Size
	for _, n := range []int{10, 100, 500, 1000} {
		for _, r := range []int{1000, 10000, 100000} {
			plan = append(plan, Size{n, r, 10, "vpnv4"})
		}
	}
	return append(plan, Size{200, 10000, 100, "vpnv4"}, Size{200, 10000, 200, "vpnv4"},
		Size{100, 10000, 10, "evpn"}, Size{100, 10000, 10, "vpls"})
}

func parseSizes(text string) ([]Size, error) {
	var plan []Size
	for _, s := range strings.Split(text, ",") {
		words := strings.Split(s, "/")
		if len(words) != 3 && len(words) != 4 {
			return nil, fmt.Errorf("--sizes: %q is not PEs/routes/pool or PEs/routes/pool/family", s)
		}
		size := Size{Family: "vpnv4"}
		for i, number := range []*int{&size.PEs, &size.Routes, &size.Pool} {
			n, err := strconv.Atoi(words[i])
			if err != nil || n < 1 {
				return nil, fmt.Errorf("--sizes: %q in %q is not a positive number", words[i], s)
			}
			*number = n
		}
		if len(words) == 4 {
			size.Family = words[3]
		}
		if families[size.Family] == nil {
			return nil, fmt.Errorf("--sizes: %q in %q is not vpnv4, evpn or vpls", size.Family, s)
		}
		if size.PEs < 2 || size.PEs > 4000 || size.Routes < size.PEs || size.Routes/size.PEs > 65000 {
			return nil, fmt.Errorf("--sizes: %q: 2 to 4000 PEs, with 1 to 65000 routes each", s)
		}
		plan = append(plan, size)
	}
	return plan, nil
}

// each returns the number of routes of a site.
func (s Size) each() int { return cmp.Or(s.Routes/max(s.PEs, 1), 1) }
