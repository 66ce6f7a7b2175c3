package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"weft/routeserver/internal/ruleset"
)

// weft is this project's route server, driven over its control API as the controller does it.
type weft struct {
	p          *Process
	generation uint64
	binary     string
}

const weftToken = "bench"

// startWeft returns the start function for the release of a program.
func startWeft(program func(Tools) string) func(Cell, *World, string) (Driver, error) {
	return func(c Cell, w *World, dir string) (Driver, error) { return runWeft(program(c.Tools), c, w, dir) }
}

func runWeft(binary string, c Cell, w *World, dir string) (Driver, error) {
	if err := os.WriteFile(dir+"/token", []byte(weftToken), 0o600); err != nil {
		return nil, err
	}
	p, err := startProcess(dir, binary, "--name", "rs", "--listen", server+":179", "--control", "127.0.0.1:9179",
		"--token-file", dir+"/token", "--state", dir+"/state", "--router-id", "10.255.0.1", "--log-level", "warn")
	if err != nil {
		return nil, err
	}
	d := &ruleset.Document{Generation: 1}
	for i := range c.PEs {
		name := fmt.Sprintf("pe%d", i)
		d.Peers = append(d.Peers, ruleset.Peer{Name: name, Address: address(i), ASN: asn})
		target := fmt.Sprintf("%d:%d", asn, i+1)
		d.Endpoints = append(d.Endpoints, ruleset.Endpoint{Name: site(i), Peer: name, Family: w.family.weft, RT: target, RD: target})
	}
	for v := range w.pools {
		members := []string{}
		for _, i := range w.members(v) {
			members = append(members, site(i))
		}
		d.Vcps = append(d.Vcps, ruleset.Vcp{Name: pool(v), Members: members})
	}
	e := &weft{p: p, generation: 1, binary: binary}
	if err := patiently(p, func() error { return e.call("PUT", "/v1/ruleset", d) }); err != nil {
		p.stop()
		return nil, err
	}
	return e, nil
}

func site(i int) string { return fmt.Sprintf("site%d", i) }
func pool(v int) string { return fmt.Sprintf("pool%d", v) }

func (e *weft) process() *Process { return e.p }
func (e *weft) version() string   { return output(e.binary, "--version") }

func (e *weft) move(s, from, to int) error {
	change := ruleset.Change{Base: e.generation, Generation: e.generation + 1, Ops: []ruleset.Operation{
		{Op: ruleset.Leave, Pool: pool(from), Member: site(s)}, {Op: ruleset.Join, Pool: pool(to), Member: site(s)},
	}}
	e.generation++
	return e.call("POST", "/v1/changes", change)
}

var client = &http.Client{Timeout: time.Minute}

func (e *weft) call(method, path string, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(method, "http://127.0.0.1:9179"+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+weftToken)
	reply, err := client.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err == nil && reply.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s %s", method, path, reply.Status, text)
	}
	return err
}
