package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzReadKeys checks that a password file is read or refused, and the text of an error does not depend on the secrets.
func FuzzReadKeys(f *testing.F) {
	f.Add("192.0.2.1 secret\n# comment\n\n2001:db8::1 md5 other\n")
	f.Add("192.0.2.1 ao 1 2 hmac-sha-1-96 swordfish\n192.0.2.1 ao 3 4 aes-128-cmac-96 swordfish\n")
	f.Add("192.0.2.1 one\n192.0.2.1 two\n")
	f.Add("192.0.2.1 ao 1 2 hmac-sha-1-96\n")
	f.Add("192.0.2.1 ao 1 2 none swordfish\n")
	file := filepath.Join(f.TempDir(), "passwords")
	f.Fuzz(func(t *testing.T, text string) {
		keys, said := readKeys(t, file, text)
		if (said == "") == (keys == nil) {
			t.Fatalf("%v and %q", keys, said)
		}
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			if words := strings.Fields(line); len(words) > 1 {
				words[len(words)-1] = strings.Repeat("x", len(words[len(words)-1]))
				lines[i] = strings.Join(words, " ")
			}
		}
		if _, other := readKeys(t, file, strings.Join(lines, "\n")); other != said {
			t.Fatalf("%q, but with other secrets %q", said, other)
		}
	})
}

// readKeys writes a password file and reads it; said is the error.
func readKeys(t *testing.T, file, text string) (keys Keys, said string) {
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := ReadKeys(file)
	if err != nil {
		said = err.Error()
	}
	return keys, said
}
