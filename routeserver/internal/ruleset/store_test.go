package ruleset

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// more returns a change from a generation to the next that makes one more pool.
func more(g uint64) *Change {
	return &Change{Base: g, Generation: g + 1, Ops: []Operation{{Op: SetVcp, Vcp: &Vcp{fmt.Sprintf("pool%d", g), []string{"cafe-lan"}}}}}
}

func appendTo(t *testing.T, s *Store, set *Set, n int) *Set {
	t.Helper()
	for range n {
		c := more(set.Generation)
		next, err := set.Apply(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Append(c, next); err != nil {
			t.Fatal(err)
		}
		set = next
	}
	return set
}

func loads(t *testing.T, dir string, want *Set) {
	t.Helper()
	got, err := open(t, dir).Load()
	if err != nil {
		t.Fatal(err)
	}
	if got.Generation != want.Generation || !Equal(got, want) {
		t.Errorf("generation %d was loaded, not %d", got.Generation, want.Generation)
	}
}

func TestStoreLoadsWhatWasLastInForce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if set, err := s.Load(); set != nil || err != nil {
		t.Fatalf("an empty store loads %v, %v", set, err)
	}
	set := goldenSet(t, "ruleset.json")
	if err := s.Save(set); err != nil {
		t.Fatal(err)
	}
	loads(t, dir, set)
	set = appendTo(t, s, set, 5)
	loads(t, dir, set)
	// After a restart the first change makes a snapshot.
	set = appendTo(t, open(t, dir), set, 1)
	loads(t, dir, set)
}

func TestALineCutOffByACrashWasNeverInForce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	set := goldenSet(t, "ruleset.json")
	if err := s.Save(set); err != nil {
		t.Fatal(err)
	}
	before := appendTo(t, s, set, 2)
	appendTo(t, s, before, 1)
	journal := filepath.Join(dir, journalFile)
	data, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(journal, data[:len(data)-7], 0o600); err != nil {
		t.Fatal(err)
	}
	loads(t, dir, before)
}

func TestAJournalOfAnotherSnapshotIsIgnored(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if err := s.Save(goldenSet(t, "ruleset.json")); err != nil {
		t.Fatal(err)
	}
	appendTo(t, s, goldenSet(t, "ruleset.json"), 1)
	old, err := os.ReadFile(filepath.Join(dir, journalFile))
	if err != nil {
		t.Fatal(err)
	}
	// A crash came right after another snapshot of the same generation was put in place.
	other, err := Build(&Document{Generation: 42})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Save(other); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, journalFile), old, 0o600); err != nil {
		t.Fatal(err)
	}
	loads(t, dir, other)
}

func TestADamagedStoreSaysWhere(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, snapshotFile), []byte(`{"generation": "x"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, dir).Load(); err == nil || !strings.Contains(err.Error(), "ruleset.json: generation: ") {
		t.Errorf("error %v", err)
	}
}

func TestCompareFindsThePairsConcerned(t *testing.T) {
	old := goldenSet(t, "ruleset.json")
	c, err := DecodeChange(golden(t, "change.json"))
	if err != nil {
		t.Fatal(err)
	}
	now, err := old.Apply(c)
	if err != nil {
		t.Fatal(err)
	}
	d := Compare(old, now)
	text := fmt.Sprintf("%v %v", d.Peers, d.Sites)
	if text != "[harbour station] [harbour-lan station-lan]" {
		t.Errorf("peers and sites %s", text)
	}
	pairs := []string{}
	for _, p := range d.Pairs {
		pairs = append(pairs, fmt.Sprintf("%s>%s:%t", p.Endpoint, p.Peer, p.Targets != ""))
	}
	want := "cafe-lan>harbour:true cafe-lan>library:false harbour-lan>cafe:true harbour-lan>library:true library-lan>cafe:false library-lan>harbour:true"
	if got := strings.Join(pairs, " "); got != want {
		t.Errorf("pairs %s", got)
	}
	if d := Compare(now, now); len(d.Pairs)+len(d.Sites)+len(d.Peers) > 0 {
		t.Errorf("a set differs from itself by %+v", d)
	}
}
