// Package ruleset holds the rules of a route server: who its peers are, which endpoint owns which route target, and which
// endpoints share a pool. It mirrors controller/wire/rulesets.py.
//
// A Set never changes: a change makes a new one. So a transaction is a comparison of two sets.
package ruleset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Peer is a PE: its name and the address that its BGP sessions come from.
type Peer struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	ASN     uint32 `json:"asn"`
	// TTLSecurity is how many hops away the peer may be (GTSM, RFC 5082); 255: any distance; 0: the route server's default.
	TTLSecurity int `json:"ttl_security,omitempty"`
}

// Endpoint says who may announce a route target, with how many routes (0: any number), and what the routes may contain.
type Endpoint struct {
	Name      string  `json:"name"`
	Peer      string  `json:"peer"`
	Family    string  `json:"family"`
	RT        string  `json:"rt"`
	RD        string  `json:"rd"`
	MaxRoutes int     `json:"max_routes,omitempty"`
	Permits   Permits `json:"permits,omitzero"`
}

// Vcp is a pool and its members.
type Vcp struct {
	Name    string   `json:"name"`
	Members []string `json:"members"`
}

// Document is a rule set as it is exchanged and stored. Lists are sorted by name.
type Document struct {
	Generation uint64     `json:"generation"`
	Peers      []Peer     `json:"peers"`
	Endpoints  []Endpoint `json:"endpoints"`
	Vcps       []Vcp      `json:"vcps"`
}

// Operation is one step of a change; which fields are set depends on Op.
type Operation struct {
	Op       string
	Name     string    // remove-peer, remove-endpoint, remove-vcp
	Peer     *Peer     // set-peer
	Endpoint *Endpoint // set-endpoint
	Vcp      *Vcp      // set-vcp
	Pool     string    // join, leave: `vcp` on the wire
	Member   string    // join, leave: `endpoint` on the wire
}

// Change is a list of operations on generation Base. They are applied in order, all or none.
type Change struct {
	Base       uint64      `json:"base"`
	Generation uint64      `json:"generation"`
	Ops        []Operation `json:"ops"`
	DryRun     bool        `json:"dry_run,omitempty"`
}

// Invalid is an error in a document: the field and the fault. Its text is for people.
type Invalid struct {
	Field, Message string
}

// Error returns the fault with the field's name.
func (e *Invalid) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

func invalid(field, format string, args ...any) error {
	return &Invalid{Field: field, Message: fmt.Sprintf(format, args...)}
}

// DecodeDocument reads a rule set. Unknown fields are errors.
func DecodeDocument(data []byte) (*Document, error) {
	var d struct {
		Generation *uint64     `json:"generation"`
		Peers      *[]Peer     `json:"peers"`
		Endpoints  *[]Endpoint `json:"endpoints"`
		Vcps       *[]Vcp      `json:"vcps"`
	}
	if err := decode(data, &d); err != nil {
		return nil, err
	}
	for field, missing := range map[string]bool{
		"generation": d.Generation == nil, "peers": d.Peers == nil, "endpoints": d.Endpoints == nil, "vcps": d.Vcps == nil,
	} {
		if missing {
			return nil, invalid(field, "is missing")
		}
	}
	return &Document{*d.Generation, *d.Peers, *d.Endpoints, *d.Vcps}, nil
}

// DecodeChange reads a change. Unknown fields are errors.
func DecodeChange(data []byte) (*Change, error) {
	var c struct {
		Base       *uint64            `json:"base"`
		Generation *uint64            `json:"generation"`
		Ops        *[]json.RawMessage `json:"ops"`
		DryRun     bool               `json:"dry_run"`
	}
	if err := decode(data, &c); err != nil {
		return nil, err
	}
	if c.Base == nil {
		return nil, invalid("base", "is missing")
	}
	if c.Generation == nil {
		return nil, invalid("generation", "is missing")
	}
	if c.Ops == nil {
		return nil, invalid("ops", "is missing")
	}
	change := &Change{Base: *c.Base, Generation: *c.Generation, DryRun: c.DryRun, Ops: make([]Operation, len(*c.Ops))}
	for i, raw := range *c.Ops {
		if err := change.Ops[i].UnmarshalJSON(raw); err != nil {
			return nil, within(fmt.Sprintf("ops[%d]", i), err)
		}
	}
	return change, nil
}

// within puts a prefix before the field that an error names.
func within(prefix string, err error) error {
	var e *Invalid
	if !errors.As(err, &e) {
		return invalid(prefix, "%s", err)
	}
	if e.Field == "" {
		return invalid(prefix, "%s", e.Message)
	}
	return invalid(prefix+"."+e.Field, "%s", e.Message)
}

// decode reads one JSON value strictly and turns encoding/json's errors into Invalid ones.
func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, err := d.Token(); err != io.EOF {
			return invalid("", "there is more after the JSON document")
		}
		return nil
	}
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &kind):
		return invalid(kind.Field, "is a JSON %s where a %s is expected", kind.Value, kind.Type)
	case errors.As(err, &syntax):
		return invalid("", "is not JSON: %s at byte %d", syntax, syntax.Offset)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return invalid("", "is not JSON: it ends too early")
	}
	if field, found := strings.CutPrefix(err.Error(), "json: unknown field "); found {
		return invalid(strings.Trim(field, `"`), "is not a known field")
	}
	return invalid("", "%s", err)
}
