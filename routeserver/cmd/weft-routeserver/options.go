package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/routeserver/identity"
	"weft/routeserver/internal/bmp"
	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/session"
	"weft/routeserver/internal/wire"
)

// toldFile is the file in the state directory that keeps the keys from the controller.
const toldFile = "keys"

// errDone means that parse has printed the requested text.
var errDone = errors.New("done")

// options are the checked command line.
type options struct {
	engine      engine.Config
	session     session.Config
	control     netip.AddrPort
	token       string
	metrics     string // token
	state       string
	identity    *identity.Identity // nil: the control API is unencrypted
	passwords   string             // the file
	confirmWait time.Duration
	lease       time.Duration
	twin        string
	stations    []string // of BMP, host and port
	bmp         bmp.Config
	level       slog.Level
	objects     bool
}

const intro = `weft-routeserver: a BGP route server that joins endpoints into pools by rewriting route targets.

It waits for its rule set on the control API (or takes the one in --state), then accepts BGP sessions from the
peers that the rule set names, by their source address: internal ones of its own AS, and external ones.

`

func parse(args []string, output io.Writer) (*options, error) {
	f := flag.NewFlagSet("weft-routeserver", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	name := f.String("name", "", "this route server's `name`, as the controller knows it (default: the host's)")
	listen := f.String("listen", "0.0.0.0:179", "`address:port` for BGP")
	control := f.String("control", "127.0.0.1:9179", "`address:port` of the control API")
	tokenFile := f.String("token-file", "", "`file` with the control API's bearer token (required)")
	metricsToken := f.String("metrics-token-file", "", "`file` with a bearer token that opens /metrics and nothing else, for Prometheus")
	host := f.String("identity", "", "`directory` where the agent of this host keeps its key and certificate (STATE_DIR/identity): the control API speaks TLS with them, and so does --twin with an https URL")
	state := f.String("state", "", "`directory` that keeps the rule set (required)")
	asn := f.Uint("asn", 65000, "AS `number` of the region; peers with another one are external")
	routerID := f.String("router-id", "", "BGP identifier, an `IPv4 address` (default: that of --listen)")
	clusterID := f.String("cluster-id", "", "route reflection cluster, an `IPv4 address` (default: --router-id)")
	wait := f.Duration("confirm-wait", 5*time.Second, "`time` to wait after a start for the controller to confirm the rule set, before serving it anyway")
	twin := f.String("twin", "", "base `URL` of the other route server's control API, which takes the same token: where to get the rule set while the controller is silent")
	lease := f.Duration("lease", 0, "`time` after which BGP is closed if neither the controller nor the twin was heard of, at least 10s; 0: this route server goes on serving what it has")
	hold := f.Duration("hold-time", 90*time.Second, "BGP hold `time` to offer, at least 3s")
	retry := f.Duration("connect-retry", 30*time.Second, "`time` between attempts to connect, with --active")
	idle := f.Duration("idle-hold", time.Second, "`time` for which a peer gets no new connection after an error of its own, twice as long after each in a row, at most 1m; 0: none")
	connects := f.Float64("connect-rate", 2, "`connections` per second that a peer may open, and ten times that at once; 0: any number")
	active := f.Bool("active", false, "also open connections to the peers, rather than only accept them")
	peerPort := f.Uint("peer-port", 179, "`port` to connect to, with --active")
	restart := f.Duration("restart-time", time.Minute, "`time` that PEs are asked to keep our routes for while we restart (RFC 4724), at most 4095s; 0: no graceful restart, on either side")
	stale := f.Duration("stale-time", 3*time.Minute, "`time` for which routes of a PE that restarts are kept at most, whatever it asks for")
	long := f.String("long-lived-stale-time", "0", "`time` for which routes of a PE that is not back after its restart time are kept at most, as the least preferred, and PEs are asked to keep ours (RFC 9494): one for all families, or as in l2vpn-evpn=1h,vpnv4=12h; 0: off")
	deferral := f.Duration("restart-deferral", 45*time.Second, "`time` that End-of-RIB waits at most for that of all PEs, after our own restart")
	passwords := f.String("password-file", "", "`file` with lines \"address password\" of neighbours that must use TCP-MD5 (RFC 2385), or \"address ao sendid recvid algorithm key\" for TCP-AO (RFC 5925); SIGHUP reads it again")
	hops := f.Int("ttl-security", 0, "accept packets only from neighbours within this many `hops` (GTSM, RFC 5082), who have to send with TTL 255; 0: off, and neighbours, external ones too, may be any number of hops away")
	farewell := f.String("shutdown-text", "", "`text` of at most 255 bytes that neighbours are told at the end (RFC 9003; default: the route server stops)")
	settle := f.Duration("poison-settle", 5*time.Second, "`time` within which a PE that does not bear a route ends its session: what it was sent since then is suspected, and held back from it alone until it was tried; at most 15s; 0: off")
	holdBack := f.Duration("poison-hold", time.Hour, "`time` for which a route is held back from a PE that ends its session for it, twice as long after each time in a row, at least 1m")
	maxRoutes := f.Int("max-routes", 100000, "end the session of a peer that announces more `routes` than this; 0: no bound")
	maxBytes := f.Int("max-bytes", 256<<20, "end the session of a peer whose routes take more `bytes` of memory than this; 0: no bound")
	limitHold := f.Duration("limit-hold", 30*time.Second, "`time` for which an endpoint with more routes or MACs than it may have stays in quarantine at least, at most 1h")
	var stations []string
	f.Func("bmp", "tell the BMP station at `host:port` about sessions and routes (RFC 7854, RFC 8671); may be given several times", func(text string) error {
		stations = append(stations, text)
		return nil
	})
	statistics := f.Duration("bmp-statistics", time.Minute, "`time` between statistics for BMP stations, at least 1s; 0: none")
	level := f.String("log-level", "info", "`level`: debug, info, warn or error")
	format := f.String("log-format", cmp.Or(os.Getenv("WEFT_LOG_FORMAT"), "text"), "`form` of log lines: text, or json for an object a line; WEFT_LOG_FORMAT names another default")
	showVersion := f.Bool("version", false, "print the version and exit")
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(output, intro)
		f.SetOutput(output)
		f.PrintDefaults()
		return nil, errDone
	} else if err != nil {
		return nil, fmt.Errorf("%w; see --help", err)
	}
	if *showVersion {
		fmt.Fprintln(output, "weft-routeserver", version)
		return nil, errDone
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("%q is not an option; see --help", f.Arg(0))
	}
	o := &options{state: *state, passwords: *passwords, confirmWait: *wait, lease: *lease, twin: *twin, stations: stations}
	o.engine.Name, o.engine.ASN, o.engine.MaxRoutes = *name, uint32(*asn), *maxRoutes
	o.session.Active, o.session.HoldTime, o.session.ConnectRetry = *active, *hold, *retry
	o.engine.MaxBytes = *maxBytes
	o.session.IdleHold, o.session.ConnectRate, o.engine.LimitHold = *idle, *connects, *limitHold
	o.engine.Settle, o.engine.HoldBack = *settle, *holdBack
	o.session.RestartTime, o.session.Deferral, o.engine.StaleTime = *restart, *deferral, *stale
	if *restart == 0 {
		o.engine.StaleTime = 0
	}
	if *host != "" {
		o.identity = identity.New(*host)
	}
	var err error
	if o.engine.LongLived, err = longLived(*long); err != nil {
		return nil, err
	}
	if *name == "" {
		o.engine.Name, _ = os.Hostname()
	}
	switch {
	case *tokenFile == "":
		return nil, errors.New("--token-file is missing; see --help")
	case *state == "":
		return nil, errors.New("--state is missing; see --help")
	case *asn < 1 || *asn > 1<<32-1:
		return nil, fmt.Errorf("--asn %d is not an AS number", *asn)
	case *lease != 0 && *lease < 2*engine.Silence:
		return nil, fmt.Errorf("--lease %s is less than %s, nor 0", *lease, 2*engine.Silence)
	case *twin != "" && !isURL(*twin):
		return nil, fmt.Errorf("--twin %q is not of the form http://address:port", *twin)
	case *host != "" && strings.HasPrefix(*twin, "http:"):
		return nil, fmt.Errorf("--twin %s is in the clear, and so is the token; with --identity it must be https", *twin)
	case *hold < 3*time.Second || *hold > 65535*time.Second:
		return nil, fmt.Errorf("--hold-time %s is not between 3s and 65535s", *hold)
	case *retry < time.Second:
		return nil, fmt.Errorf("--connect-retry %s is less than a second", *retry)
	case *idle < 0 || *idle > time.Minute:
		return nil, fmt.Errorf("--idle-hold %s is not between 0 and 1m", *idle)
	case *maxRoutes < 0 || *maxBytes < 0:
		return nil, fmt.Errorf("--max-routes %d and --max-bytes %d are not both 0 or more", *maxRoutes, *maxBytes)
	case !(*connects >= 0 && *connects <= 1000):
		return nil, fmt.Errorf("--connect-rate %g is not between 0 and 1000", *connects)
	case *limitHold < 0 || *limitHold > time.Hour:
		return nil, fmt.Errorf("--limit-hold %s is not between 0 and 1h", *limitHold)
	case *restart != 0 && (*restart < time.Second || *restart > wire.MaxRestart):
		return nil, fmt.Errorf("--restart-time %s is not between 1s and %ds, nor 0", *restart, wire.MaxRestart/time.Second)
	case *stale < 0 || *stale > time.Hour:
		return nil, fmt.Errorf("--stale-time %s is not between 0 and 1h", *stale)
	case *restart == 0 && o.engine.LongLived != [wire.Families]time.Duration{}:
		return nil, errors.New("--long-lived-stale-time goes on where graceful restart ends, but --restart-time is 0")
	case *deferral < 0 || *deferral > time.Hour:
		return nil, fmt.Errorf("--restart-deferral %s is not between 0 and 1h", *deferral)
	case *hops < 0 || *hops > 254:
		return nil, fmt.Errorf("--ttl-security %d is not between 0 and 254", *hops)
	case *statistics != 0 && *statistics < time.Second:
		return nil, fmt.Errorf("--bmp-statistics %s is less than a second, and not 0", *statistics)
	case *settle != 0 && (*settle < 100*time.Millisecond || *settle > 15*time.Second):
		return nil, fmt.Errorf("--poison-settle %s is not between 100ms and 15s, nor 0", *settle)
	case *holdBack < time.Minute || *holdBack > 24*time.Hour:
		return nil, fmt.Errorf("--poison-hold %s is not between 1m and 24h", *holdBack)
	case *peerPort < 1 || *peerPort > 65535:
		return nil, fmt.Errorf("--peer-port %d is not a port", *peerPort)
	}
	if err := session.CheckText(*farewell); err != nil {
		return nil, fmt.Errorf("--shutdown-text %w", err)
	}
	o.session.ShutdownText = *farewell
	o.session.PeerPort, o.session.Hops = uint16(*peerPort), *hops
	for i, station := range stations {
		if host, port, err := net.SplitHostPort(station); err != nil || host == "" || !isPort(port) {
			return nil, fmt.Errorf("--bmp %q is not of the form host:port", station)
		}
		if slices.Contains(stations[:i], station) {
			return nil, fmt.Errorf("--bmp %s is there twice", station)
		}
	}
	if *format != "text" && *format != "json" {
		return nil, fmt.Errorf("--log-format %q is neither text nor json", *format)
	}
	o.objects = *format == "json"
	o.bmp = bmp.Config{Name: o.engine.Name, Description: "Weft route server " + version, Statistics: *statistics}
	if *passwords != "" {
		if o.session.Keys, err = session.ReadKeys(*passwords); err != nil {
			return nil, err
		}
	}
	o.session.ToldFile = filepath.Join(*state, toldFile)
	if o.session.Told, err = session.ReadKeys(o.session.ToldFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return o, errors.Join(o.addresses(*listen, *control, *routerID, *clusterID), secret(*tokenFile, &o.token), secret(*metricsToken, &o.metrics), o.level.UnmarshalText([]byte(*level)))
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

func (o *options) addresses(listen, control, routerID, clusterID string) (err error) {
	if o.session.Listen, err = netip.ParseAddrPort(listen); err != nil {
		return fmt.Errorf("--listen %q is not of the form address:port", listen)
	}
	if o.control, err = netip.ParseAddrPort(control); err != nil {
		return fmt.Errorf("--control %q is not of the form address:port", control)
	}
	if routerID == "" {
		routerID = o.session.Listen.Addr().String()
		if o.session.Listen.Addr().IsUnspecified() {
			return errors.New("--router-id is missing, and --listen names no single address to take it from")
		}
	}
	if clusterID == "" {
		clusterID = routerID
	}
	if o.engine.RouterID, err = identifier("--router-id", routerID); err != nil {
		return err
	}
	o.engine.ClusterID, err = identifier("--cluster-id", clusterID)
	return err
}

// isURL reports whether a text is the base URL of a control API.
func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.RawQuery == "" && u.Fragment == ""
}

func identifier(option, text string) ([4]byte, error) {
	address, err := netip.ParseAddr(text)
	if err != nil || !address.Is4() || address.IsUnspecified() {
		return [4]byte{}, fmt.Errorf("%s %q is not an IPv4 address other than 0.0.0.0", option, text)
	}
	return address.As4(), nil
}

// secret reads a token, if there is a file for it.
func secret(file string, token *string) error {
	if file == "" {
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("the token file cannot be read: %w", err)
	}
	if *token = strings.TrimSpace(string(data)); *token == "" {
		return fmt.Errorf("the token file %s is empty", file)
	}
	return nil
}
