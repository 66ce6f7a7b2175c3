// Command soak runs one route server under constant churn and reports whether it stays stable: memory, goroutines and
// file descriptors do not grow, no session is lost that should stay, and no PE gets a foreign route; see
// ../../docs/reports/soak.md.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// Plan is the configuration of a run.
type Plan struct {
	Minutes float64 `json:"minutes"`
	PEs     int     `json:"pes"`
	Pool    int     `json:"pool"`   // members of a pool, at the start
	Routes  int     `json:"routes"` // of each site, which announces a part of them; at most 64
	Rate    float64 `json:"rate"`   // disturbances per second, on average
	Seed    uint64  `json:"seed"`
	Weft    string  `json:"-"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("soak", flag.ExitOnError)
	var p Plan
	f.Float64Var(&p.Minutes, "minutes", 30, "how long, in `minutes`; below ten, caches are still filling and memory is not flat")
	f.IntVar(&p.PEs, "pes", 200, "emulated `PEs`; the first is slow, the last sends garbage, the one before it is hostile")
	f.IntVar(&p.Pool, "pool", 10, "`members` of a pool, at the start")
	f.IntVar(&p.Routes, "routes", 50, "`routes` of each site, at most 64")
	f.Float64Var(&p.Rate, "rate", 40, "disturbances per `second`")
	f.Uint64Var(&p.Seed, "seed", uint64(time.Now().Unix()), "`number` that the order of disturbances follows from")
	f.StringVar(&p.Weft, "weft", "build/bin/weft-routeserver", "`program`")
	output := f.String("output", "build/soak.json", "`file` for the samples and the verdict")
	page := f.String("page", "", "`file` for the page; the plot goes beside it")
	inside := f.Bool("inside", false, "used by the command itself, in its namespace")
	if err := f.Parse(args); err != nil {
		return err
	}
	switch {
	case p.Minutes < 0.5 || p.Minutes > 24*60:
		return fmt.Errorf("-minutes %g is not between 0.5 and a day", p.Minutes)
	case p.Pool < 2 || p.PEs < 6*p.Pool || p.PEs > 4000:
		return fmt.Errorf("-pes %d: at least six pools are needed, of %d, and at most 4000 PEs", p.PEs, p.Pool)
	case p.Routes < 1 || p.Routes > 64:
		return fmt.Errorf("-routes %d is not between 1 and 64", p.Routes)
	case p.Rate < 1 || p.Rate > 1000:
		return fmt.Errorf("-rate %g is not between 1 and 1000", p.Rate)
	case os.Getuid() != 0:
		return fmt.Errorf("network namespaces need root")
	}
	if !*inside {
		return within(ctx, args)
	}
	result, err := soak(ctx, p)
	if err != nil {
		return err
	}
	data, err := json.Marshal(result)
	if err != nil {
		return err
	}
	if err := os.WriteFile(*output, append(data, '\n'), 0o644); err != nil {
		return err
	}
	fmt.Println(result.text())
	if *page != "" {
		if err := result.publish(*page); err != nil {
			return err
		}
	}
	if !result.OK {
		return fmt.Errorf("the route server did not stay as it was")
	}
	return nil
}

// within runs the command again in a new namespace and removes it afterwards.
func within(ctx context.Context, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	namespace := fmt.Sprintf("weft-soak-%d", os.Getpid())
	ip := func(args ...string) error {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %s", strings.Join(args, " "), strings.TrimSpace(string(out)))
		}
		return nil
	}
	if err := ip("netns", "add", namespace); err != nil {
		return err
	}
	defer func() { _ = ip("netns", "del", namespace) }()
	// Segments have the size of a real link: with loopback's large ones, a small window would let almost nothing through.
	if err := ip("-n", namespace, "link", "set", "lo", "mtu", "1500", "up"); err != nil {
		return err
	}
	// Buffers are small, so that data for a slow PE waits in the route server and not in the kernel.
	if err := ip("netns", "exec", namespace, "sh", "-c", "echo 4096 8192 32768 >/proc/sys/net/ipv4/tcp_wmem"); err != nil {
		return err
	}
	child := exec.Command("ip", append([]string{"netns", "exec", namespace, self, "-inside"}, args...)...)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := child.Start(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = child.Process.Signal(syscall.SIGTERM) })()
	err = child.Wait()
	_ = syscall.Kill(-child.Process.Pid, syscall.SIGKILL) // a route server whose parent has died
	if err != nil {
		return fmt.Errorf("failed (%w)", err)
	}
	return nil
}
