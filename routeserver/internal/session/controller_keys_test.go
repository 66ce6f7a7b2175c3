package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weft/routeserver/internal/session"
)

func told(t *testing.T, pairs ...string) session.Keys {
	t.Helper()
	keys := session.Keys{}
	for i := 0; i < len(pairs); i += 2 {
		if err := session.ParseTold(keys, pairs[i], pairs[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

func TestToldKeysAreInForceBesideTheFilesAndKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	r := keyed(t, session.Config{ToldFile: file}, "127.0.78.12 filed\n")
	a := r.dial(t, "11")
	if err := r.server.Tell(told(t, "127.0.78.11", "told", "127.0.78.12", "other")); err != nil {
		t.Fatal(err)
	}
	if n := a.Closed(); n == nil || n.ErrorSubcode != 6 {
		t.Errorf("the unsigned session ended with %+v", n)
	}
	r.refused(t, "no password", unsigned)
	r.refused(t, "another password", signing("filed"))
	_, conn := r.signed(t, signing("told"), 90)
	if c, err := dialer("127.0.78.12", signing("filed")).Dial("tcp", r.remote); err != nil {
		t.Errorf("the file's password does not count: %v", err)
	} else {
		c.Close()
	}
	if err := r.server.Rekey(readKeys(t, "127.0.78.13 c\n")); err != nil { // SIGHUP
		t.Fatal(err)
	}
	r.refused(t, "no password after SIGHUP", unsigned)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	kept, err := session.ReadKeys(file)
	if err != nil {
		t.Fatal(err)
	}
	digest, neighbours := r.server.Digest()
	if again, _ := session.New(session.Config{Told: kept}, nil, nil).Digest(); again != digest || neighbours != 2 {
		t.Errorf("kept are %s, told %s (%d)", again, digest, neighbours)
	}
	conn.Close()
	if err := r.server.Tell(session.Keys{}); err != nil { // revoked
		t.Fatal(err)
	}
	r.refused(t, "a key that is told no more", signing("told"))
	if text, _ := os.ReadFile(file); len(text) > 0 {
		t.Errorf("on disk is still %q", text)
	}
}

func TestANeighbourFollowsToAnotherPasswordWithANewConnection(t *testing.T) {
	r := keyed(t, session.Config{}, "")
	if err := r.server.Tell(told(t, "127.0.78.11", "one")); err != nil {
		t.Fatal(err)
	}
	r.signed(t, signing("one"), 90)
	if err := r.server.Tell(told(t, "127.0.78.11", "two")); err != nil {
		t.Fatal(err)
	}
	r.signed(t, signing("two"), 90) // the old session has 90 s left
}

func TestKeysThatCannotBeKeptAreNotInForce(t *testing.T) {
	r := keyed(t, session.Config{ToldFile: filepath.Join(t.TempDir(), "nowhere", "keys")}, "")
	if err := r.server.Tell(told(t, "127.0.78.11", "told")); err == nil || !strings.Contains(err.Error(), "cannot be kept") {
		t.Error(err)
	}
	r.dial(t, "11")
}
