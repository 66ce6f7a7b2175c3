package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weft/routeserver/internal/session"
)

func passwordFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "passwords")
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return file
}

func readKeys(t *testing.T, text string) session.Keys {
	t.Helper()
	keys, err := session.ReadKeys(passwordFile(t, text, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestPasswordFile(t *testing.T) {
	keys := readKeys(t, "# PEs\n\n10.0.0.1 s3cret\n2001:db8::1\tmd5  s3cret2\n10.0.0.2 ao 1 2 HMAC-SHA-1-96 s3cret3\n10.0.0.2 ao 3 4 aes-128-cmac-96 s3cret4\n10.0.0.3 md5\n")
	if len(keys) != 4 {
		t.Fatalf("%v", keys)
	}
	if text := fmt.Sprintf("%v %+v %#v", keys, keys, keys); strings.Contains(text, "s3cret") {
		t.Errorf("printed as %s", text)
	}
	for text, want := range map[string]string{
		"10.0.0.1":                                                                   ":1: is of none of the forms",
		"\nhost s3cret":                                                              ":2: does not begin with an address",
		"10.0.0.1 a\n::ffff:10.0.0.1 s3cret":                                         ":2: the address is there twice",
		"10.0.0.1 s3cret" + strings.Repeat("x", 80):                                  ":1: the password or key is longer than 80 bytes",
		"10.0.0.1 sha s3cret":                                                        ":1: is of none of the forms",
		"10.0.0.1 md6 1 2 hmac-sha-1-96 s3cret":                                      ":1: is of none of the forms",
		"10.0.0.1 ao 1 hmac-sha-1-96 s3cret":                                         ":1: is of none of the forms",
		"10.0.0.1 ao 256 1 hmac-sha-1-96 s3cret":                                     ":1: the two identifiers",
		"10.0.0.1 ao 1 x hmac-sha-1-96 s3cret":                                       ":1: the two identifiers",
		"10.0.0.1 ao 1 1 md5 s3cret":                                                 ":1: the algorithm is neither",
		"10.0.0.1 a\n10.0.0.1 ao 1 1 hmac-sha-1-96 s3cret":                           ":2: the address is there twice",
		"10.0.0.1 ao 1 1 hmac-sha-1-96 s3cret\n10.0.0.1 a":                           ":2: the address is there twice",
		"10.0.0.1 ao 1 1 hmac-sha-1-96 s3cret\n10.0.0.1 ao 1 2 hmac-sha-1-96 s3cret": ":2: another key of this address",
		"10.0.0.1 ao 1 1 hmac-sha-1-96 s3cret\n10.0.0.1 ao 2 1 hmac-sha-1-96 s3cret": ":2: another key of this address",
	} {
		if _, err := session.ReadKeys(passwordFile(t, text, 0o600)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := session.ReadKeys(passwordFile(t, "10.0.0.1 s3cret", 0o644)); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that everybody can read: %v", err)
	}
}
