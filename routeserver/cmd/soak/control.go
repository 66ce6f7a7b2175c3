package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"weft/routeserver/internal/ruleset"
)

const api, token = "http://127.0.0.1:9179", "soak"

// Controller changes the rule set over the control API, as the controller does.
type Controller struct {
	client     http.Client
	region     *Region
	generation uint64
}

func name(site int) string { return fmt.Sprintf("pe%d", site) }
func pool(v int) string    { return fmt.Sprintf("pool%d", v) }

func endpoint(site int, family string) ruleset.Endpoint {
	id := fmt.Sprintf("%d:%d", asn, site+1)
	return ruleset.Endpoint{Name: name(site), Peer: name(site), Family: family, RT: id, RD: id}
}

// put puts the region's rule set in force.
func (c *Controller) put() error {
	d := &ruleset.Document{Generation: 1}
	for i, p := range c.region.pes {
		d.Peers = append(d.Peers, ruleset.Peer{Name: name(i), Address: address(i), ASN: asn})
		d.Endpoints = append(d.Endpoints, endpoint(i, p.family.name))
	}
	for v := range c.region.pools {
		d.Vcps = append(d.Vcps, ruleset.Vcp{Name: pool(v), Members: []string{}})
	}
	for i, v := range c.region.pool {
		d.Vcps[v].Members = append(d.Vcps[v].Members, name(i))
	}
	c.generation = 1
	_, err := c.call("PUT", "/v1/ruleset", d)
	return err
}

// change applies operations as one change.
func (c *Controller) change(ops ...ruleset.Operation) error {
	_, err := c.call("POST", "/v1/changes", ruleset.Change{Base: c.generation, Generation: c.generation + 1, Ops: ops})
	if err == nil {
		c.generation++
	}
	return err
}

// move moves sites to other pools, or out of their pool (-1), in one change.
func (c *Controller) move(moves map[int]int) error {
	var ops []ruleset.Operation
	for s, to := range moves {
		if from := c.region.pool[s]; from >= 0 && from != to {
			ops = append(ops, ruleset.Operation{Op: ruleset.Leave, Pool: pool(from), Member: name(s)})
		}
		if to >= 0 && to != c.region.pool[s] {
			ops = append(ops, ruleset.Operation{Op: ruleset.Join, Pool: pool(to), Member: name(s)})
		}
	}
	if len(ops) == 0 {
		return nil
	}
	c.region.begin(moves)
	defer c.region.end(moves)
	return c.change(ops...)
}

// call sends a request to the route server and returns the answer.
func (c *Controller) call(method, path string, body any) ([]byte, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, api+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	reply, err := c.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err == nil && reply.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s %s", method, path, reply.Status, text)
	}
	return text, err
}
