package control_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestABodyThatDoesNotArrive checks that such a request ends, with the token and without, and that a streamed answer goes on.
func TestABodyThatDoesNotArrive(t *testing.T) {
	h := build(t)
	h.server.Patience = 300 * time.Millisecond
	for token, want := range map[string]int{"secret": http.StatusRequestTimeout, "wrong": http.StatusUnauthorized} {
		connection, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(connection, "PUT /v1/ruleset HTTP/1.1\r\nHost: rs1\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\n{", token)
		_ = connection.SetReadDeadline(time.Now().Add(10 * time.Second))
		reader := bufio.NewReader(connection)
		reply, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		if reply.StatusCode != want {
			t.Errorf("with %s: %d", token, reply.StatusCode)
		}
		_, _ = io.Copy(io.Discard, reply.Body)
		_ = reply.Body.Close()
		if _, err := reader.ReadByte(); err == nil || strings.Contains(err.Error(), "timeout") {
			t.Errorf("with %s: the connection stays: %v", token, err)
		}
		_ = connection.Close()
	}
	if status, text := h.do("PUT", "/v1/ruleset", `{"generation": 1, "peers": [], "endpoints": [], "vcps": []}`); status != http.StatusOK {
		t.Errorf("in time: %d %s", status, text)
	}
	events := h.watch("")
	time.Sleep(2 * h.server.Patience)
	select {
	case text, open := <-events:
		if !open {
			t.Errorf("the stream ended: %s", text)
		}
	default:
	}
}
