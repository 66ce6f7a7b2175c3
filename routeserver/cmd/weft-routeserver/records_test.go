package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/petest"
)

// hostile texts would add a line or another value to a record, or control a terminal. Most have no space, because slog
// would quote them for that alone.
var hostile = []string{
	"forged\ntime=2026-01-01T00:00:00.000Z level=ERROR msg=forged\r",
	"forged\n", "forged\r", "forged\x1b[31m", "forged\u009b31m", "forged\u0085", "forged\u2028\u2029", "forged\u202e",
	"forged\x00\a\b\v\f", "forged\x7f", `forged" level=ERROR msg="`, `forged\" level=ERROR`,
}

// logged runs a route server with the full log, and returns a function that reads the log so far.
func logged(t *testing.T) (speaks, control string, log func() string) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = file
	t.Cleanup(func() { os.Stderr = stderr; file.Close() }) // after the end of the route server
	speaks, control, _ = daemon(t, t.TempDir(), "1ms", "--log-level", "debug", "--idle-hold", "0s")
	return speaks, control, func() string {
		text, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// send sends a request byte by byte, as it is, and ignores the answer.
func send(t *testing.T, control, request string) {
	t.Helper()
	conn, err := net.Dial("tcp", control)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, request)
	_ = conn.(*net.TCPConn).CloseWrite()
	_, _ = io.Copy(io.Discard, conn)
}

func quoted(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}

func TestNobodyForgesLinesOfTheLog(t *testing.T) {
	speaks, control, log := logged(t)
	address := func(i int) string { return fmt.Sprintf("127.0.76.%d", 101+i) }
	peers := []string{}
	for i, name := range hostile {
		peers = append(peers, fmt.Sprintf(`{"name": %s, "address": %q, "asn": 65000}`, quoted(name), address(i)))
	}
	if s := call(control, "PUT", "/v1/ruleset", `{"generation": 1, "peers": [`+strings.Join(peers, ", ")+`], "endpoints": [], "vcps": []}`); s != http.StatusOK {
		t.Fatalf("status %d", s)
	}
	until(t, "BGP", func() bool { return accepts(speaks) })
	for _, value := range hostile {
		ask(t, control, value)
	}
	for i, value := range hostile {
		says(t, petest.Options{Local: address(i), Remote: speaks}, control, value)
	}

	for _, message := range []string{
		"a session is reset.* text=.*forged", "BGP connection ended.* peer=.*forged.*administrative reset.*forged",
		"BGP connection ended.*NOTIFICATION received: 6/2 .*forged", "BGP connection ended.*NOTIFICATION received: 6/5 ",
		"a request failed",
	} {
		lines := regexp.MustCompile("(?m)^.* msg=\"?" + message)
		until(t, message, func() bool { return len(lines.FindAllString(log(), -1)) >= len(hostile) })
	}
	values := regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	for line := range strings.Lines(log()) {
		shown := strings.TrimSuffix(line, "\n")
		bare := values.ReplaceAllString(shown, "")
		if !strings.HasPrefix(shown, "time=") || strings.Count(bare, " level=") != 1 || strings.Count(bare, " msg=") != 1 {
			t.Errorf("not a record of the route server's: %q", line)
		}
		if strings.ContainsFunc(shown, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("not for a terminal: %q", line)
		}
	}
}

// ask sends a text in every part of a request that takes one.
func ask(t *testing.T, control, value string) {
	t.Helper()
	const head = " HTTP/1.1\r\nHost: rs1\r\nAuthorization: Bearer secret\r\n"
	send(t, control, "GET /"+value+" HTTP/1.1\r\nHost: "+value+"\r\n\r\n")
	send(t, control, value+" /v1/status"+head+"X-Forwarded-For: "+value+"\r\n\r\n")
	send(t, control, "PUT /v1/ruleset"+head+"Transfer-Encoding: chunked\r\n\r\n"+value+"\r\n")
	send(t, control, "PUT /v1/ruleset"+head+"Content-Length: 999\r\n\r\n"+value)
	text, word := quoted(value), url.QueryEscape(value)
	for _, request := range [][3]string{
		{"POST", "/v1/changes", `{"base": 1, "generation": 2, "ops": [{"op": ` + text + `}]}`},
		{"POST", "/v1/changes", `{"base": 1, "generation": 2, ` + text + `: 1}`},
		{"PUT", "/v1/keys", `{"keys": [{"address": ` + text + `, "password": ` + text + `}]}`},
		{"POST", "/v1/peers/" + url.PathEscape("no "+value) + "/reset", `{"text": ` + text + `}`},
		{"GET", "/v1/routes?peer=" + word + "&nlri=" + word, ""}, {"GET", "/v1/explain?from=" + word + "&to=" + word, ""},
	} {
		if s := call(control, request[0], request[1], request[2]); s == http.StatusOK || s == 0 {
			t.Errorf("%s %s %s: status %d", request[0], request[1], request[2], s)
		}
	}
}

// says sends the text as the reason of a reset, of a shutdown (RFC 9003) and, where no text belongs, of a rejection.
func says(t *testing.T, o petest.Options, control, value string) {
	t.Helper()
	session := func() *petest.PE {
		pe := petest.Connect(t, o)
		pe.Handshake()
		pe.Run()
		return pe
	}
	reset := session()
	until(t, "the session to be reset", func() bool {
		return call(control, "POST", "/v1/peers/"+url.PathEscape(value)+"/reset", `{"text": `+quoted(value)+`}`) == http.StatusOK
	})
	reset.Closed()
	data := append([]byte{byte(len(value))}, value...)
	for _, subcode := range []uint8{bgp.BGP_ERROR_SUB_ADMINISTRATIVE_SHUTDOWN, bgp.BGP_ERROR_SUB_CONNECTION_REJECTED} {
		pe := session()
		pe.Send(bgp.NewBGPNotificationMessage(bgp.BGP_ERROR_CEASE, subcode, data))
		pe.Closed()
	}
}
