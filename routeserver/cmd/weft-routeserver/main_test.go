package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weft/routeserver/internal/wire"
)

func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.76.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func tokenFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestOptionsThatCannotBe(t *testing.T) {
	token := tokenFile(t, "secret\n")
	good := []string{"--token-file", token, "--state", t.TempDir(), "--listen", "127.0.76.1:1790"}
	if _, err := parse(good, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		text string
	}{
		{[]string{"--token-file", token}, "--state is missing"},
		{[]string{"--state", "x"}, "--token-file is missing"},
		{append(good, "--token-file", "/nowhere"), "the token file cannot be read"},
		{append(good, "--token-file", tokenFile(t, " \n")), "is empty"},
		{append(good, "--listen", "localhost"), "--listen"},
		{append(good, "--listen", "0.0.0.0:179"), "--router-id is missing"},
		{append(good, "--router-id", "::1"), "--router-id"},
		{append(good, "--cluster-id", "x"), "--cluster-id"},
		{append(good, "--control", "x"), "--control"},
		{append(good, "--hold-time", "2s"), "--hold-time"},
		{append(good, "--shutdown-text", strings.Repeat("x", 256)), "--shutdown-text has 256 bytes"},
		{append(good, "--shutdown-text", "\xff"), "--shutdown-text is not UTF-8"},
		{append(good, "--idle-hold", "2m"), "--idle-hold"},
		{append(good, "--asn", "0"), "--asn"},
		{append(good, "--peer-port", "70000"), "--peer-port"},
		{append(good, "--log-level", "loud"), "loud"},
		{append(good, "--lease", "9s"), "--lease"},
		{append(good, "--long-lived-stale-time", "1ms"), "--long-lived-stale-time"},
		{append(good, "--long-lived-stale-time", "vpnv4=1h,vpnv5=1h"), "vpnv5"},
		{append(good, "--long-lived-stale-time", "1h", "--restart-time", "0"), "--restart-time is 0"},
		{append(good, "--twin", "rs2:9179"), "--twin"},
		{append(good, "--twin", "http://rs2:9179", "--identity", "x"), "must be https"},
		{append(good, "--metrics-token-file", "/nowhere"), "the token file cannot be read"},
		{append(good, "--bmp", "collector"), "--bmp"},
		{append(good, "--bmp", "collector:0"), "--bmp"},
		{append(good, "--bmp", "c:11019", "--bmp", "c:11019"), "twice"},
		{append(good, "--bmp-statistics", "1ms"), "--bmp-statistics"},
		{append(good, "--colour"), "see --help"},
		{append(good, "extra"), `"extra"`},
	} {
		if _, err := parse(c.args, io.Discard); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%v: error %v", c.args, err)
		}
	}
	for text, want := range map[string][2]time.Duration{"0": {}, "2h": {2 * time.Hour, 2 * time.Hour}, "vpnv4=90s": {0, 90 * time.Second}} {
		o, err := parse(append(good, "--long-lived-stale-time", text), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.engine.LongLived; got[wire.VPLS] != want[0] || got[wire.VPNv4] != want[1] || got[wire.RTC] != 0 {
			t.Errorf("%s is read as %v", text, got)
		}
	}
	var out bytes.Buffer
	if _, err := parse([]string{"--version"}, &out); !errors.Is(err, errDone) || !strings.HasPrefix(out.String(), "weft-routeserver ") {
		t.Errorf("--version says %q, %v", out.String(), err)
	}
	if _, err := parse([]string{"--help"}, &out); !errors.Is(err, errDone) || !strings.Contains(out.String(), "-token-file") {
		t.Errorf("--help says %q, %v", out.String(), err)
	}
}

// daemon runs a route server until the test ends or stop is called.
func daemon(t *testing.T, state, wait string, more ...string) (bgp, control string, stop func()) {
	t.Helper()
	bgp, control = free(t), free(t)
	o, err := parse(append([]string{"--name", "rs1", "--listen", bgp, "--control", control, "--token-file", tokenFile(t, "secret"),
		"--state", state, "--confirm-wait", wait, "--log-level", "error"}, more...), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	stop = start(t, o)
	until(t, "the control API", func() bool { return call(control, "GET", "/healthz", "") != 0 })
	return bgp, control, stop
}

// start runs a route server until the test ends or the returned function is called.
func start(t *testing.T, o *options) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, o) }()
	done := false
	stop = func() {
		if done {
			return
		}
		done = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func call(control, method, path, body string) int {
	request, err := http.NewRequest(method, "http://"+control+path, strings.NewReader(body))
	if err != nil {
		return 0
	}
	request.Header.Set("Authorization", "Bearer secret")
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	reply.Body.Close()
	return reply.StatusCode
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 1000 {
		if ok() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}

func accepts(bgp string) bool {
	conn, err := net.Dial("tcp", bgp)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

func TestBGPOpensWhenTheRuleSetMayBeServed(t *testing.T) {
	state := t.TempDir()
	rules := `{"generation": %d, "peers": [], "endpoints": [], "vcps": []}`

	bgp, control, stop := daemon(t, state, "1ms") // no rule set on disk: waits for the controller without limit
	if accepts(bgp) {
		t.Error("BGP is open without a rule set")
	}
	if s := call(control, "PUT", "/v1/ruleset", fmt.Sprintf(rules, 7)); s != 200 {
		t.Fatalf("status %d", s)
	}
	until(t, "BGP after the first rule set", func() bool { return accepts(bgp) })
	stop()

	bgp, control, stop = daemon(t, state, "1h") // a rule set on disk: waits for the controller's confirmation
	if accepts(bgp) {
		t.Error("BGP is open before the controller's word")
	}
	if s := call(control, "POST", "/v1/confirm", `{"generation": 8}`); s != 409 || accepts(bgp) {
		t.Errorf("the wrong generation was confirmed: %d", s)
	}
	if s := call(control, "POST", "/v1/confirm", `{"generation": 7}`); s != 200 {
		t.Errorf("status %d", s)
	}
	until(t, "BGP after the confirmation", func() bool { return accepts(bgp) })
	stop()

	bgp, _, _ = daemon(t, state, "1ms") // no controller: serves its rule set
	until(t, "BGP without a controller", func() bool { return accepts(bgp) })
}

func TestAnAddressThatCannotBeBound(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.76.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	token, state := tokenFile(t, "secret"), t.TempDir()
	for option, text := range map[string]string{"--listen": "the BGP address", "--control": "the control address"} {
		args := []string{"--listen", free(t), "--control", free(t), "--token-file", token, "--state", state, option, taken.Addr().String()}
		o, err := parse(args, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		err = run(context.Background(), o)
		if err == nil || !strings.HasPrefix(err.Error(), text) || !strings.HasSuffix(err.Error(), "address already in use") {
			t.Errorf("%s: error %v", option, err)
		}
	}
}
