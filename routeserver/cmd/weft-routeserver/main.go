// Command weft-routeserver is Weft's BGP route server.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/time/rate"

	"weft/routeserver/connections"
	"weft/routeserver/internal/bmp"
	"weft/routeserver/internal/control"
	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/session"
	"weft/routeserver/internal/twin"
)

// version is set by the linker of a release.
var version = "0.1.0"

func main() {
	options, err := parse(os.Args[1:], os.Stdout)
	if errors.Is(err, errDone) {
		return
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
		err = run(ctx, options)
		stop()
	}
	if err != nil && options != nil && options.objects {
		options.logger().Error("the route server ends", "error", err)
		os.Exit(1)
	} else if err != nil {
		fmt.Fprintln(os.Stderr, "weft-routeserver:", err)
		os.Exit(1)
	}
}

// Limits of connections to the control API: in all, and from one address.
const callers, fromOne = 512, 128

func run(ctx context.Context, o *options) error {
	debug.SetGCPercent(50) // a small machine is short of memory
	log := o.logger()
	started := time.Now()
	store, err := ruleset.OpenStore(o.state)
	if err != nil {
		return err
	}
	defer store.Close()
	var sessions *session.Server
	e, err := engine.New(o.engine, store, func(s *ruleset.Set, peers []string) { sessions.Reconcile(s, peers) })
	if err != nil {
		return err
	}
	sessions = session.New(o.session, e, log)
	e.RunTrial()
	if err := sessions.Probe(); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.control.String())
	if err != nil {
		return fmt.Errorf("the control address %s cannot be bound: %w", o.control, innermost(err))
	}
	surplus := rate.Sometimes{First: 1, Interval: 10 * time.Second}
	listener = connections.Limit(listener, callers, fromOne, func(peer netip.Addr) {
		surplus.Do(func() { log.Warn("too many connections to the control API", "peer", peer) })
	})
	if o.identity != nil {
		listener = tls.NewListener(listener, o.identity.Server())
	}
	stations := make([]*bmp.Station, len(o.stations))
	for i, address := range o.stations {
		stations[i] = bmp.New(o.bmp, address, e, log)
	}
	api := &control.Server{Engine: e, Sessions: sessions, Stations: stations, Token: o.token, MetricsToken: o.metrics, Started: started, Version: version, Log: log}
	base, cancel := context.WithCancel(context.Background())
	defer cancel()
	rekey(base, o.passwords, sessions, log)
	if o.twin != "" {
		api.Twin = twin.New(o.twin, o.token, e, o.identity)
		go api.Twin.Run(base)
	}
	server := &http.Server{
		Handler: api.Handler(), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return base },
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 2)
	go func() { failed <- server.Serve(listener) }()
	generation, loaded, _ := e.Generation()
	log.Info("route server started", "name", o.engine.Name, "version", version, "control", o.control, "ruleset", loaded, "generation", generation)

	silence := tell(stations)
	serving := make(chan error, 1)
	go func() { serving <- serve(ctx, o, e, sessions, log) }()
	select {
	case err = <-failed:
		err = fmt.Errorf("the control API ended: %w", err)
	case err = <-serving:
	}
	cancel() // ends event streams
	silence()
	last, done := context.WithTimeout(context.Background(), time.Second)
	defer done()
	_ = server.Shutdown(last)
	if err == nil {
		log.Info("route server stopped")
	}
	return err
}

func innermost(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}
