// Command hostile-pe is a malicious PE: it repeats, without end, all acts by which a PE must not be able to hurt
// others. `make siege` starts it in place of a cloudlet's own speaker. At SIGTERM it prints what it did, as JSON.
package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"weft/routeserver/internal/poisons"
)

func main() {
	from := flag.String("from", "", "its own `address`, and its BGP identifier")
	to := flag.String("to", "", "the route servers, `address:port` with commas between them")
	asn := flag.Int("asn", 65000, "the region's `AS` number")
	rd := flag.String("rd", "", "route distinguisher of its endpoint, eight octets in `hex`")
	rt := flag.String("rt", "", "route target of its endpoint, eight octets in `hex`")
	macs := flag.Int("macs", 512, "how many MACs its endpoint may have")
	hurting := flag.Bool("hurting", false, "announce the routes as well that are well formed and reset a known daemon")
	flag.Parse()
	site, err := site(*from, *rd, *rt)
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	done := &counts{of: map[string]int{}}
	var all sync.WaitGroup
	for _, server := range strings.Split(*to, ",") {
		pe := &pe{from: *from, to: server, asn: *asn, macs: *macs, hurting: *hurting, site: site, done: done}
		all.Go(func() { pe.besiege(ctx) })
	}
	all.Wait()
	if err := json.NewEncoder(os.Stdout).Encode(done.of); err != nil {
		os.Exit(1)
	}
}

func site(from, rd, rt string) (s poisons.Site, err error) {
	if s.Hop, err = netip.ParseAddr(from); err != nil {
		return s, fmt.Errorf("-from: %w", err)
	}
	s.Hop6 = netip.MustParseAddr("2001:db8::9")
	for name, of := range map[string]struct {
		text string
		to   *[8]byte
	}{"-rd": {rd, &s.RD}, "-rt": {rt, &s.RT}} {
		octets, err := hex.DecodeString(of.text)
		if err != nil || len(octets) != 8 {
			return s, fmt.Errorf("%s %q is not eight octets in hex", name, of.text)
		}
		copy(of.to[:], octets)
	}
	return s, nil
}

// counts are the numbers of acts by name.
type counts struct {
	mu sync.Mutex
	of map[string]int
}

func (c *counts) add(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[what] += n
}
