package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"weft/routeserver/internal/ruleset"
)

// rules returns an empty rule set of a generation.
func rules(generation int) string {
	return fmt.Sprintf(`{"generation": %d, "peers": [], "endpoints": [], "vcps": []}`, generation)
}

// status is the answer to GET /v1/status.
type status struct {
	Generation         uint64
	Serving, Confirmed bool
	InTouch            bool `json:"in_touch"`
	Twin               struct {
		Name       string
		Generation uint64
		Reachable  bool
		InTouch    bool `json:"in_touch"`
		Error      string
	}
}

func statusOf(t *testing.T, control string) (s status) {
	t.Helper()
	request, err := http.NewRequest("GET", "http://"+control+"/v1/status", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer secret")
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	data, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// disk returns a state directory with a rule set of a generation.
func disk(t *testing.T, generation int) string {
	t.Helper()
	dir := t.TempDir()
	store, err := ruleset.OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	set, err := ruleset.Build(&ruleset.Document{Generation: uint64(generation)})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Save(set); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTheTwinBringsItUpToDateBeforeItServes(t *testing.T) {
	_, twin, _ := daemon(t, t.TempDir(), "1h", "--name", "rs2")
	for name, state := range map[string]string{"an old generation": disk(t, 3), "no state": t.TempDir()} {
		if s := call(twin, "PUT", "/v1/ruleset", rules(7)); s != 200 { // the controller is in touch with the twin
			t.Fatalf("status %d", s)
		}
		bgp, control, stop := daemon(t, state, "1h", "--twin", "http://"+twin)
		until(t, "BGP, with "+name, func() bool { return accepts(bgp) })
		if s := statusOf(t, control); s.Generation != 7 || s.InTouch || s.Twin.Name != "rs2" || !s.Twin.Reachable {
			t.Errorf("%s: %+v", name, s)
		}
		stop()
		bgp, control, stop = daemon(t, state, "1ms") // it is on disk, too
		until(t, "BGP again", func() bool { return accepts(bgp) })
		if s := statusOf(t, control); s.Generation != 7 {
			t.Errorf("%s, restarted: %+v", name, s)
		}
		stop()
	}
}

func TestWithoutTheControllersWordTheWaitIsKept(t *testing.T) {
	_, twin, _ := daemon(t, disk(t, 7), "1h", "--name", "rs2") // it does not know whether 7 is the latest generation
	bgp, control, _ := daemon(t, disk(t, 7), "1h", "--twin", "http://"+twin)
	until(t, "a look at the twin", func() bool { return statusOf(t, control).Twin.Generation == 7 })
	if s := statusOf(t, control); s.Confirmed || accepts(bgp) {
		t.Errorf("BGP is open on the word of a twin that has heard nothing: %+v", s)
	}
}

func TestNothingOnTrialIsTakenOver(t *testing.T) {
	_, twin, _ := daemon(t, disk(t, 6), "1h", "--name", "rs2")
	if s := call(twin, "PUT", "/v1/ruleset?confirm_within=3600", rules(7)); s != 200 {
		t.Fatalf("status %d", s)
	}
	_, control, _ := daemon(t, disk(t, 5), "1h", "--twin", "http://"+twin)
	until(t, "a look at the twin", func() bool { return statusOf(t, control).Twin.Generation == 7 })
	if s := statusOf(t, control); s.Generation != 5 {
		t.Errorf("%+v", s)
	}
	if s := call(twin, "POST", "/v1/heartbeat", `{"generation": 7}`); s != 200 {
		t.Fatalf("status %d", s)
	}
	seen := statusOf(t, control)
	until(t, "another look", func() bool { seen = statusOf(t, control); return seen.Twin.Generation == 7 && seen.Twin.InTouch })
	if seen.Generation != 5 {
		t.Errorf("a heartbeat has ended a trial: %+v", seen)
	}
	if s := call(twin, "POST", "/v1/confirm", `{"generation": 7}`); s != 200 {
		t.Fatalf("status %d", s)
	}
	until(t, "what is on trial no more", func() bool { return statusOf(t, control).Generation == 7 })
}

func TestATwinThatIsOneselfVouchesForNothing(t *testing.T) {
	control := free(t)
	o, err := parse([]string{"--name", "rs1", "--listen", free(t), "--control", control, "--token-file", tokenFile(t, "secret"),
		"--state", disk(t, 1), "--twin", "http://" + control, "--log-level", "error"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	start(t, o)
	until(t, "the error", func() bool {
		return call(control, "GET", "/healthz", "") == 200 && statusOf(t, control).Twin.Error == "http://"+control+" is called rs1, as this route server is"
	})
}

func TestTheLeaseEndsAndIsTakenUpAgain(t *testing.T) {
	bgp, control := free(t), free(t)
	o, err := parse([]string{"--name", "rs1", "--listen", bgp, "--control", control, "--token-file", tokenFile(t, "secret"),
		"--state", disk(t, 7), "--confirm-wait", "1ms", "--lease", "10s", "--log-level", "error"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	o.lease = 500 * time.Millisecond
	start(t, o)
	until(t, "the control API", func() bool { return call(control, "GET", "/healthz", "") == 200 })
	if accepts(bgp) {
		t.Error("BGP is open, and nobody has said that it may be")
	}
	for range 2 {
		if s := call(control, "POST", "/v1/confirm", `{"generation": 7}`); s != 200 {
			t.Fatalf("status %d", s)
		}
		until(t, "BGP with the controller's word", func() bool { return accepts(bgp) })
		until(t, "the end of the lease", func() bool { return !accepts(bgp) })
		if s := statusOf(t, control); s.Serving || s.Confirmed {
			t.Errorf("%+v", s)
		}
	}
}

func TestATwinWithTheSameRuleSetRenewsTheLease(t *testing.T) {
	_, twin, stop := daemon(t, disk(t, 7), "1ms", "--name", "rs2")
	bgp, control := free(t), free(t)
	o, err := parse([]string{"--name", "rs1", "--listen", bgp, "--control", control, "--token-file", tokenFile(t, "secret"),
		"--state", disk(t, 7), "--confirm-wait", "1ms", "--lease", "10s", "--twin", "http://" + twin, "--log-level", "error"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	o.lease = 2500 * time.Millisecond // the route server asks the twin every second
	start(t, o)
	until(t, "BGP with the twin's word", func() bool { return accepts(bgp) })
	for end := time.Now().Add(4 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if !accepts(bgp) {
			t.Fatal("BGP is closed, and the twin has the same rule set")
		}
	}
	stop()
	until(t, "the end of the lease", func() bool { return !accepts(bgp) })
}

// certify writes a self-signed host certificate for the address of all tests into a directory.
func certify(t *testing.T) (directory string, trusted *x509.CertPool) {
	t.Helper()
	directory = t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 76, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, data := range map[string][]byte{
		"certificate.pem": own, "chain.pem": own, "key.pem": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	} {
		if err := os.WriteFile(filepath.Join(directory, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trusted = x509.NewCertPool()
	trusted.AppendCertsFromPEM(own)
	return directory, trusted
}

func TestAPairSpeaksTLS(t *testing.T) {
	directory, trusted := certify(t)
	_, twin, _ := daemon(t, disk(t, 7), "1ms", "--name", "rs2", "--identity", directory)
	bgp, control, _ := daemon(t, t.TempDir(), "1ms", "--twin", "https://"+twin, "--identity", directory)
	until(t, "BGP with the twin's rule set", func() bool { return accepts(bgp) })
	if s := call(control, "GET", "/v1/status", ""); s != 400 {
		t.Errorf("status %d in the clear", s)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MaxVersion: tls.VersionTLS12}}}
	if reply, err := client.Get("https://" + control + "/healthz"); err == nil {
		_ = reply.Body.Close()
		t.Error("TLS 1.2 will do")
	}
	client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}
	reply, err := client.Get("https://" + control + "/healthz")
	if err != nil || reply.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", reply, err)
	}
	_ = reply.Body.Close()
}
