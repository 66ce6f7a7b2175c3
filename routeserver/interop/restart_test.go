package interop

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"os/exec"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/api"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"weft/routeserver/ruleset"
)

// daemon is a process that a test kills.
type daemon struct {
	t       *testing.T
	command *exec.Cmd
}

func spawn(t *testing.T, name string, args ...string) *daemon {
	t.Helper()
	var output bytes.Buffer
	d := &daemon{t, exec.Command(name, args...)}
	d.command.Stdout, d.command.Stderr = &output, &output
	if err := d.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.kill()
		if t.Failed() {
			t.Logf("%s %v said:\n%s", name, args, output.String())
		}
	})
	return d
}

// kill is kill -9. The kernel closes the connections.
func (d *daemon) kill() {
	if d.command.ProcessState == nil {
		_ = d.command.Process.Kill()
		_ = d.command.Wait()
	}
}

// gracefulGobgpd is a PE that restarts gracefully within some seconds; restarting says that it has.
func gracefulGobgpd(t *testing.T, binary, address, server string, seconds uint32, restarting bool) (*gobgpd, *daemon) {
	t.Helper()
	host := free(t, address)
	d := spawn(t, binary, "--api-hosts", host, "--log-level", "warn", "--pprof-disable")
	cc, err := grpc.NewClient(host, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	g := &gobgpd{t, api.NewGoBgpServiceClient(cc), address}
	until(t, "gobgpd", func() bool {
		_, err := g.api.StartBgp(context.Background(), &api.StartBgpRequest{Global: &api.Global{Asn: 65000, RouterId: address, ListenPort: -1}})
		return err == nil
	})
	remote := netip.MustParseAddrPort(server)
	_, err = g.api.AddPeer(context.Background(), &api.AddPeerRequest{Peer: &api.Peer{
		Conf:      &api.PeerConf{NeighborAddress: remote.Addr().String(), PeerAsn: 65000},
		Timers:    &api.Timers{Config: &api.TimersConfig{ConnectRetry: 2, IdleHoldTimeAfterReset: 1}},
		Transport: &api.Transport{LocalAddress: address, RemotePort: uint32(remote.Port())},
		GracefulRestart: &api.GracefulRestart{
			Enabled: true, RestartTime: seconds, DeferralTime: 5, LocalRestarting: restarting,
		},
		AfiSafis: []*api.AfiSafi{{
			Config:            &api.AfiSafiConfig{Family: vpls, Enabled: true},
			MpGracefulRestart: &api.MpGracefulRestart{Config: &api.MpGracefulRestartConfig{Enabled: true}},
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return g, d
}

func (c *control) stale() (routes int, restarting bool) {
	c.t.Helper()
	var status struct {
		Restarting bool
		Sessions   []struct{ Stale int }
	}
	if err := c.call("GET", "/v1/status", nil, &status); err != nil {
		c.t.Fatal(err)
	}
	for _, s := range status.Sessions {
		routes += s.Stale
	}
	return routes, status.Restarting
}

// always polls for a while, and fails as soon as the PE has not what it is to have.
func (g *gobgpd) always(d time.Duration, want map[string]string) {
	g.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if have := g.routes(); fmt.Sprint(have) != fmt.Sprint(want) {
			g.t.Fatalf("%s has %v, not %v", g.address, have, want)
		}
	}
}

func TestGobgpdAndTheRouteServerRestart(t *testing.T) {
	if testing.Short() {
		t.Skip("building gobgpd takes a minute")
	}
	server := free(t, "127.0.79.2")
	host := free(t, "127.0.79.2")
	program, binary := build(t, "weft/routeserver/cmd/weft-routeserver"), build(t, "github.com/osrg/gobgp/v4/cmd/gobgpd")
	options := append(flags(t, server, host), "--restart-time", "20s", "--confirm-wait", "100ms")
	rs := spawn(t, program, options...)
	c := &control{t, "http://" + host, http.DefaultClient}
	d := &ruleset.Document{Generation: 1, Vcps: []ruleset.Vcp{{Name: "pool", Members: []string{"lanpe1", "lanpe2"}}}}
	for i := range 2 {
		name, rt := fmt.Sprintf("pe%d", i+1), fmt.Sprintf("65000:%d", i+1)
		d.Peers = append(d.Peers, ruleset.Peer{Name: name, Address: fmt.Sprintf("127.0.79.%d", i+21), ASN: 65000})
		d.Endpoints = append(d.Endpoints, ruleset.Endpoint{Name: "lan" + name, Peer: name, Family: "l2vpn-vpls", RT: rt, RD: rt})
	}
	c.replace(d)
	one, first := gracefulGobgpd(t, binary, "127.0.79.21", server, 6, false)
	two, _ := gracefulGobgpd(t, binary, "127.0.79.22", server, 60, false)
	one.announce(1, 1)
	two.announce(2, 2)
	route := func(i int) string {
		return fmt.Sprintf("65000:%d:%d:1 (Block Size: 64, Label Block Base: %d)", i, i, i<<12|1)
	}
	ofOne, ofTwo := map[string]string{route(1): "65000:2"}, map[string]string{route(2): "65000:1"}
	one.has(ofTwo)
	two.has(ofOne)

	// The PE's daemon dies and comes back in time: the other PE does not notice.
	first.kill()
	until(t, "a stale route", func() bool { n, _ := c.stale(); return n == 1 })
	two.always(500*time.Millisecond, ofOne)
	one, first = gracefulGobgpd(t, binary, "127.0.79.21", server, 6, true)
	one.announce(1, 1)
	until(t, "nothing stale", func() bool {
		if have := two.routes(); fmt.Sprint(have) != fmt.Sprint(ofOne) {
			t.Fatalf("%s has %v, not %v", two.address, have, ofOne)
		}
		n, _ := c.stale()
		return n == 0 && c.established() == 2
	})
	one.has(ofTwo)
	two.always(200*time.Millisecond, ofOne)

	// The route server dies and comes back: no PE notices, and the restart ends when both have announced all they have.
	rs.kill()
	one.always(300*time.Millisecond, ofTwo)
	two.always(300*time.Millisecond, ofOne)
	spawn(t, program, options...)
	until(t, "the route server", func() bool { return c.call("GET", "/v1/status", nil, &struct{}{}) == nil })
	until(t, "the end of the restart", func() bool {
		for g, want := range map[*gobgpd]map[string]string{one: ofTwo, two: ofOne} {
			if have := g.routes(); fmt.Sprint(have) != fmt.Sprint(want) {
				t.Fatalf("%s has %v, not %v", g.address, have, want)
			}
		}
		_, restarting := c.stale()
		return !restarting
	})
	one.always(200*time.Millisecond, ofTwo)
	two.always(200*time.Millisecond, ofOne)

	// The PE's daemon dies and does not come back: its route goes when its time is over, and not before.
	killed := time.Now()
	first.kill()
	two.always(4*time.Second, ofOne)
	two.has(map[string]string{})
	if after := time.Since(killed); after < 5900*time.Millisecond || after > 12*time.Second {
		t.Errorf("the route went after %s", after)
	}
}
