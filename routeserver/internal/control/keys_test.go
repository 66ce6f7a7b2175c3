package control_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

func TestKeysGoInAndDoNotComeOut(t *testing.T) {
	h := build(t)
	var seen struct {
		Digest     string
		Neighbours int
	}
	h.must("PUT", "/v1/keys", `{"keys": [{"address": "127.0.77.12", "password": "zwei"}, {"address": "127.0.77.11", "password": "eins"}]}`, &seen)
	sum := sha256.Sum256([]byte("127.0.77.11 md5 eins\n127.0.77.12 md5 zwei\n"))
	if seen.Digest != hex.EncodeToString(sum[:]) || seen.Neighbours != 2 {
		t.Errorf("%+v", seen)
	}
	for _, path := range []string{"/v1/keys", "/v1/status", "/v1/ruleset", "/metrics", "/v1/standing"} {
		if _, text := h.do("GET", path, ""); strings.Contains(text, "eins") {
			t.Errorf("%s: %s", path, text)
		}
	}
	for body, field := range map[string]string{
		`{`: "keys", `{}`: "keys", `{"keys": 7}`: "keys", `{"keys": [{"address": "a", "password": "s3cret"}]}`: "keys[0]",
		`{"keys": [{"address": "127.0.77.11", "password": "s3cret x"}]}`:                                                 "keys[0]",
		`{"keys": [{"address": "127.0.77.11", "password": ""}]}`:                                                         "keys[0]",
		`{"keys": [{"address": "127.0.77.11", "password": "s3cret"}, {"address": "127.0.77.11", "password": "s3cret"}]}`: "keys[1]",
		`{"keys": [{"address": "127.0.77.11", "password": "` + strings.Repeat("s3cret", 14) + `"}]}`:                     "keys[0]",
		`{"keys": [{"address": "127.0.77.11", "password": "s3cret", "more": 1}]}`:                                        "keys",
	} {
		status, text := h.do("PUT", "/v1/keys", body)
		if status != 400 || !strings.Contains(text, `"field":"`+field+`"`) || strings.Contains(text, "s3cret") {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
	var status struct {
		Dropped map[string]uint64 `json:"tcp_md5"`
	}
	h.must("GET", "/v1/status", "", &status)
	if len(status.Dropped) != 3 {
		t.Errorf("%+v", status)
	}
}
