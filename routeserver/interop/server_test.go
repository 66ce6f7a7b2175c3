package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/ruleset"
)

const token = "interop"

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(40 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("waited in vain for %s", what)
}

// control is a client of a route server's control API.
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

// status is the part of GET /v1/status that these tests use.
type status struct {
	Restarting bool
	Sessions   []struct {
		Peer, State string
		Stale, Held int
		Families    []string
		Since       string
	}
}

func (c *control) status() (s status) {
	c.t.Helper()
	if err := c.call("GET", "/v1/status", nil, &s); err != nil {
		c.t.Fatal(err)
	}
	return s
}

func (c *control) established() (n int) {
	c.t.Helper()
	for _, s := range c.status().Sessions {
		if s.State == "established" {
			n++
		}
	}
	return n
}

// stale counts the routes that the route server keeps for PEs with a lost session.
func (c *control) stale() (routes int, restarting bool) {
	c.t.Helper()
	now := c.status()
	for _, s := range now.Sessions {
		routes += s.Stale
	}
	return routes, now.Restarting
}

// flags returns the route server's options for a BGP and an API address. Its files are in a temporary directory.
func flags(t *testing.T, bgp, api string) []string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--name", "rs1", "--listen", bgp, "--control", api, "--token-file", file, "--state", filepath.Join(dir, "state")}
}
