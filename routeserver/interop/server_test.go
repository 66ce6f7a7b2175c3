package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"weft/routeserver/engine"
	"weft/routeserver/ruleset"
)

const token = "interop"

// build compiles a command of this module or of one that it depends on.
func build(t *testing.T, pkg string) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command to build the daemons with")
	}
	binary := filepath.Join(t.TempDir(), filepath.Base(pkg))
	if out, err := exec.Command("go", "build", "-o", binary, pkg).CombinedOutput(); err != nil {
		t.Fatalf("%s cannot be built: %v\n%s", pkg, err, out)
	}
	return binary
}

// run starts a daemon and ends it with the test. Its output is shown if the test fails.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	var output bytes.Buffer
	c := exec.Command(name, args...)
	c.Stdout, c.Stderr = &output, &output
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait()
		if t.Failed() {
			t.Logf("%s %v said:\n%s", name, args, output.String())
		}
	})
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(40 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("waited in vain for %s", what)
}

// control speaks to a route server's control API.
type control struct {
	t      *testing.T
	url    string
	client *http.Client
}

func (c *control) call(method, path string, body, into any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(method, c.url+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	reply, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return err
	}
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s %s", method, path, reply.Status, text)
	}
	return json.Unmarshal(text, into)
}

func (c *control) replace(d *ruleset.Document) {
	c.t.Helper()
	var receipt engine.Receipt
	until(c.t, "the control API", func() bool { return c.call("GET", "/v1/status", nil, &struct{}{}) == nil })
	if err := c.call("PUT", "/v1/ruleset", d, &receipt); err != nil {
		c.t.Fatal(err)
	}
}

func (c *control) change(base uint64, op, vcp, endpoint string) engine.Receipt {
	c.t.Helper()
	var receipt engine.Receipt
	change := ruleset.Change{Base: base, Generation: base + 1, Ops: []ruleset.Operation{{Op: op, Pool: vcp, Member: endpoint}}}
	if err := c.call("POST", "/v1/changes", change, &receipt); err != nil {
		c.t.Fatal(err)
	}
	return receipt
}

func (c *control) established() int {
	var status struct {
		Sessions []struct{ State string }
	}
	if err := c.call("GET", "/v1/status", nil, &status); err != nil {
		c.t.Fatal(err)
	}
	n := 0
	for _, s := range status.Sessions {
		if s.State == "established" {
			n++
		}
	}
	return n
}

// flags are the route server's, for a BGP address and a place for its files.
func flags(t *testing.T, bgp, api string) []string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--name", "rs1", "--listen", bgp, "--control", api, "--token-file", file, "--state", filepath.Join(dir, "state")}
}
