package ruleset

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

const fuzzDocument = `{"generation": 5, "peers": [{"name": "a", "address": "192.0.2.1", "asn": 65000}, {"name": "b", "address": "2001:db8::2", "asn": 65001}],
"endpoints": [{"name": "ea", "peer": "a", "family": "l2vpn-vpls", "rt": "65000:1", "rd": "65000:1"},
{"name": "eb", "peer": "b", "family": "vpnv4", "rt": "192.0.2.9:2", "rd": "4200000000:2"}], "vcps": [{"name": "pool", "members": ["ea", "eb"]}]}`

const fuzzChange = `{"base": 5, "generation": 6, "ops": [{"op": "leave", "vcp": "pool", "endpoint": "ea"}, {"op": "join", "vcp": "pool", "endpoint": "ea"},
{"op": "set-peer", "peer": {"name": "c", "address": "192.0.2.3", "asn": 65000}}, {"op": "remove-peer", "name": "c"},
{"op": "set-endpoint", "endpoint": {"name": "ec", "peer": "a", "family": "l2vpn-evpn", "rt": "65000:3", "rd": "65000:3"}},
{"op": "remove-endpoint", "name": "ec"}, {"op": "set-vcp", "vcp": {"name": "p", "members": ["eb"]}}, {"op": "remove-vcp", "name": "p"}], "dry_run": false}`

// refusal checks that an error says what is wrong with a document.
func refusal(t *testing.T, err error) {
	t.Helper()
	if bad := (*Invalid)(nil); !errors.As(err, &bad) || bad.Message == "" {
		t.Fatalf("refused with %v", err)
	}
}

func written(t *testing.T, s *Set) []byte {
	t.Helper()
	data, err := json.Marshal(s.Document())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// FuzzDocument checks that a rule set is refused with a reason, or is the same after it is written and read again.
func FuzzDocument(f *testing.F) {
	f.Add(golden(f, "ruleset.json"))
	f.Add([]byte(fuzzDocument))
	f.Add([]byte(`{"generation": 0, "peers": [], "endpoints": [], "vcps": []}`))
	f.Add([]byte(`{"generation": -1, "peers": null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := DecodeDocument(data)
		if err != nil {
			refusal(t, err)
			return
		}
		s, err := Build(d)
		if err != nil {
			refusal(t, err)
			return
		}
		once := written(t, s)
		again, err := DecodeDocument(once)
		if err != nil {
			t.Fatal(err)
		}
		set, err := Build(again)
		if err != nil || !bytes.Equal(written(t, set), once) || !Equal(s, set) {
			t.Fatalf("%s becomes %s: %v", once, written(t, set), err)
		}
	})
}

// FuzzChange checks that a change is refused with a reason, or leads to the same set after it is written and read again. In
// either case the set that it is applied to stays as it is, and Compare describes the result.
func FuzzChange(f *testing.F) {
	f.Add(golden(f, "change.json"))
	f.Add([]byte(fuzzChange))
	f.Add([]byte(`{"base": 5, "generation": 5, "ops": []}`))
	f.Add([]byte(`{"base": 5, "generation": 6, "ops": [{"op": "join", "vcp": "pool", "endpoint": "nobody"}]}`))
	f.Add([]byte(`{"base": 5, "generation": 6, "ops": [{"op": "remove-peer", "name": "a"}, null]}`))
	d, err := DecodeDocument([]byte(fuzzDocument))
	if err != nil {
		f.Fatal(err)
	}
	base, err := Build(d)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := written(t, base)
		c, err := DecodeChange(data)
		var next *Set
		if err == nil {
			next, err = base.Apply(c)
		}
		if !bytes.Equal(written(t, base), before) {
			t.Fatal("the set that was changed is not what it was")
		}
		if err != nil {
			refusal(t, err)
			return
		}
		line, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeChange(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if set, err := base.Apply(again); err != nil || !Equal(set, next) {
			t.Fatalf("%s leads to something else: %v", line, err)
		}
		whole, err := Build(next.Document())
		if err != nil {
			t.Fatalf("what the change leads to is refused: %v", err)
		}
		if delta := Compare(next, whole); len(delta.Sites)+len(delta.Pairs) > 0 {
			t.Fatalf("the set is not what its document says: %+v", delta)
		}
	})
}

// FuzzStore checks that the route server starts with whatever is on disk or says why not. It must find again what it starts
// with.
func FuzzStore(f *testing.F) {
	dir := f.TempDir()
	s, err := OpenStore(dir)
	if err != nil {
		f.Fatal(err)
	}
	d, _ := DecodeDocument([]byte(fuzzDocument))
	set, _ := Build(d)
	c, err := DecodeChange([]byte(fuzzChange))
	if err != nil {
		f.Fatal(err)
	}
	next, err := set.Apply(c)
	if err == nil {
		err = errors.Join(s.Save(set), s.SaveTrial(next, set, time.Unix(1<<33, 0)), s.Append(c, next), s.Close())
	}
	if err != nil {
		f.Fatal(err)
	}
	var files [3][]byte
	for i, name := range []string{snapshotFile, journalFile, trialFile} {
		if files[i], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(files[0], files[1], files[2])
	f.Add(files[0], files[1][:len(files[1])-9], []byte{})
	f.Add(files[0], files[1][:70], files[2])
	f.Add(files[0][:50], files[1], files[2])
	f.Fuzz(func(t *testing.T, snapshot, journal, trial []byte) {
		for i, name := range []string{snapshotFile, journalFile, trialFile} {
			if err := os.WriteFile(filepath.Join(dir, name), [][]byte{snapshot, journal, trial}[i], 0o640); err != nil {
				t.Fatal(err)
			}
		}
		s, err := OpenStore(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		set, err := s.Load()
		if err != nil || set == nil {
			if err == nil {
				t.Fatal("neither a rule set nor an error")
			}
			return
		}
		fallback, _, err := s.LoadTrial(set)
		if err == nil && fallback != nil {
			set = fallback
		}
		if err := s.Save(set); err != nil {
			t.Fatal(err)
		}
		again, err := s.Load()
		if err != nil || !Equal(set, again) || set.Generation != again.Generation {
			t.Fatalf("%s is found again as %v: %v", written(t, set), again, err)
		}
	})
}
