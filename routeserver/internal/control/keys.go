package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"

	"weft/routeserver/internal/session"
)

// tell replaces all of the controller's keys.
func (s *Server) tell(w http.ResponseWriter, r *http.Request) {
	body, err := read(w, r)
	if err != nil {
		s.failWith(w, err)
		return
	}
	var request struct {
		Keys *[]struct {
			Address  string `json:"address"`
			Password string `json:"password"`
		} `json:"keys"`
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&request); err != nil || request.Keys == nil {
		fail(w, http.StatusBadRequest, "invalid", "keys", `keys: a JSON object like {"keys": [{"address": "192.0.2.1", "password": "…"}]} is expected`)
		return
	}
	keys := session.Keys{}
	for i, k := range *request.Keys {
		if err := session.ParseTold(keys, k.Address, k.Password); err != nil {
			field := fmt.Sprintf("keys[%d]", i)
			fail(w, http.StatusBadRequest, "invalid", field, field+": "+err.Error())
			return
		}
	}
	if err := s.Sessions.Tell(keys); err != nil {
		s.failWith(w, err)
		return
	}
	s.keys(w, r)
}

// keys returns a digest of the controller's keys and the number of neighbours, but not the keys.
func (s *Server) keys(w http.ResponseWriter, _ *http.Request) {
	digest, neighbours := s.Sessions.Digest()
	reply(w, http.StatusOK, map[string]any{"digest": digest, "neighbours": neighbours})
}

// dropped counts the segments that the kernel has dropped in this network namespace because of their TCP-MD5 signature.
// The kernel does not tell whose they were.
func dropped(netstat string) map[string]uint64 {
	names := map[string]string{"TCPMD5NotFound": "unsigned", "TCPMD5Unexpected": "unexpected", "TCPMD5Failure": "wrong"}
	counts := map[string]uint64{}
	text, err := os.ReadFile(netstat)
	if err != nil {
		return counts
	}
	lines := strings.Split(string(text), "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		values := strings.Fields(lines[i+1])
		for j, name := range strings.Fields(lines[i]) {
			if known, there := names[name]; there && j < len(values) {
				counts[known], _ = strconv.ParseUint(values[j], 10, 64)
			}
		}
	}
	return counts
}
