package ruleset

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func golden(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func goldenSet(t *testing.T, name string) *Set {
	t.Helper()
	d, err := DecodeDocument(golden(t, name))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Build(d)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sameJSON reports whether two JSON texts mean the same.
func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}

func TestGoldenDocuments(t *testing.T) {
	for _, name := range []string{"ruleset.json", "changed.json"} {
		data, err := json.Marshal(goldenSet(t, name).Document())
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(t, data, golden(t, name)) {
			t.Errorf("%s is written as %s", name, data)
		}
	}
}

func TestGoldenChange(t *testing.T) {
	c, err := DecodeChange(golden(t, "change.json"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(map[string]any{"base": c.Base, "generation": c.Generation, "ops": c.Ops, "dry_run": c.DryRun})
	if err != nil || !sameJSON(t, data, golden(t, "change.json")) {
		t.Errorf("written as %s, %v", data, err)
	}
	before := goldenSet(t, "ruleset.json")
	after, err := before.Apply(c)
	if err != nil {
		t.Fatal(err)
	}
	if want := goldenSet(t, "changed.json"); !reflect.DeepEqual(after.Document(), want.Document()) {
		t.Errorf("the change leads to %+v", after.Document())
	}
	if !Equal(before, goldenSet(t, "ruleset.json")) {
		t.Error("the set that was changed is not what it was")
	}
}

func TestInvalidDocumentsNameTheField(t *testing.T) {
	valid := string(golden(t, "ruleset.json"))
	for _, c := range []struct{ old, new, field string }{
		{`"generation": 42`, `"generation": -1`, "generation"},
		{`"generation": 42, `, ``, "generation"},
		{`"generation": 42`, `"generation": 42, "colour": 1`, "colour"},
		{`10.0.0.2`, `10.0.0.1`, "peers[1].address"},
		{`10.0.0.2`, `ten`, "peers[1].address"},
		{`"name": "library", "address"`, `"name": "cafe", "address"`, "peers[1].name"},
		{`"name": "library", "address"`, `"name": "", "address"`, "peers[1].name"},
		{`"asn": 65000}, {"name": "library"`, `"asn": 0}, {"name": "library"`, "peers[0].asn"},
		{`"ttl_security": 2`, `"ttl_security": 256`, "peers[2].ttl_security"},
		{`"ttl_security": 2`, `"ttl_security": -1`, "peers[2].ttl_security"},
		{`"peer": "library"`, `"peer": "nobody"`, "endpoints[1].peer"},
		{`"rt": "65000:2"`, `"rt": "65000:1"`, "endpoints[1].rt"},
		{`"rt": "65000:2"`, `"rt": "65000"`, "endpoints[1].rt"},
		{`"rd": "65000:2"`, `"rd": "65000:1"`, "endpoints[1].rd"},
		{`l2vpn-evpn`, `ipv4`, "endpoints[2].family"},
		{`l2vpn-evpn`, `ipv4-flowspec-vpn`, "endpoints[2].family"}, // not a main family
		{`"cafe-lan", "library-lan"`, `"cafe-lan", "moon-lan"`, "vcps[0].members[1]"},
		{`"cafe-lan", "library-lan"`, `"cafe-lan", "cafe-lan"`, "vcps[0].members[1]"},
		{`"name": "red"`, `"name": "blue"`, "vcps[2].name"},
		{`]}]}`, `]}]`, ""},
		{`]}]}`, `]}]} {}`, ""},
	} {
		text := strings.Replace(valid, c.old, c.new, 1)
		if text == valid {
			t.Fatalf("%s is not in the document", c.old)
		}
		d, err := DecodeDocument([]byte(text))
		if err == nil {
			_, err = Build(d)
		}
		var bad *Invalid
		if !errors.As(err, &bad) || bad.Field != c.field || bad.Message == "" {
			t.Errorf("%s: error %v, but the field is %q", c.new, err, c.field)
		}
	}
}

func TestInvalidChangesNameTheFieldAndChangeNothing(t *testing.T) {
	s := goldenSet(t, "ruleset.json")
	for _, c := range []struct{ ops, field string }{
		{`{"op": "fly"}`, "ops[0].op"},
		{`{"op": "join", "vcp": "blue"}`, "ops[0].endpoint"},
		{`{"op": "join", "vcp": "nope", "endpoint": "cafe-lan"}`, "ops[0].vcp"},
		{`{"op": "join", "vcp": "blue", "endpoint": "cafe-lan"}`, "ops[0].endpoint"},
		{`{"op": "leave", "vcp": "blue", "endpoint": "cafe-lan"}, {"op": "leave", "vcp": "blue", "endpoint": "cafe-lan"}`, "ops[1].endpoint"},
		{`{"op": "remove-peer", "name": "cafe"}`, "ops[0].name"},
		{`{"op": "remove-vcp", "name": "nope"}`, "ops[0].name"},
		{`{"op": "set-vcp", "vcp": {"name": "x", "members": ["nope"]}}`, "ops[0].vcp.members[0]"},
		{`{"op": "set-endpoint", "endpoint": {"name": "x", "peer": "cafe", "family": "l2vpn-vpls", "rt": "65000:1", "rd": "1:1"}}`, "ops[0].endpoint.rt"},
		{`{"op": "set-peer", "peer": {"name": "x", "address": "10.0.0.1", "asn": 1}}`, "ops[0].peer.address"},
		{`{"op": "set-peer", "peer": {"name": "x", "address": "10.0.0.9", "asn": 1}, "colour": 2}`, "ops[0].colour"},
	} {
		change, err := DecodeChange([]byte(`{"base": 42, "generation": 43, "ops": [` + c.ops + `]}`))
		if err == nil {
			_, err = s.Apply(change)
		}
		var bad *Invalid
		if !errors.As(err, &bad) || bad.Field != c.field {
			t.Errorf("%s: error %v, but the field is %q", c.ops, err, c.field)
		}
	}
	if !Equal(s, goldenSet(t, "ruleset.json")) {
		t.Error("the set is not what it was")
	}
}
