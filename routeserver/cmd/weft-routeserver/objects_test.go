package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unicode"
)

// object reads a line of the log, which has to be one JSON object in printable ASCII.
func object(t *testing.T, line string) map[string]any {
	t.Helper()
	found := map[string]any{}
	if err := json.Unmarshal([]byte(line), &found); err != nil {
		t.Fatalf("not an object: %q: %v", line, err)
	}
	if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) }) {
		t.Errorf("not for a terminal: %q", line)
	}
	for _, key := range []string{"time", "level", "logger", "message"} {
		if text, is := found[key].(string); !is || text == "" {
			t.Errorf("no %s in %q", key, line)
		}
	}
	at, err := time.Parse(time.RFC3339Nano, found["time"].(string))
	if err != nil || at.Location() != time.UTC {
		t.Errorf("the time is not RFC 3339 in UTC: %q", line)
	}
	return found
}

func TestTextsComeBackFromObjects(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(bounded(objects(&out, slog.LevelDebug))).With("logger", "test")
	for _, text := range append(hostile, "é \U0001F600 \uFFFD", `{"level": "error"}`) {
		out.Reset()
		log.Warn("a session is reset", "peer", text, "error", errors.New(text))
		found := object(t, out.String())
		if found["level"] != "warning" || found["message"] != "a session is reset" || found["peer"] != text || found["error"] != text {
			t.Errorf("%q became %q", text, out.String())
		}
	}
	for level, name := range map[slog.Level]string{slog.LevelDebug: "debug", slog.LevelInfo: "info", slog.LevelError: "error"} {
		out.Reset()
		log.Log(t.Context(), level, "x")
		if found := object(t, out.String()); found["level"] != name {
			t.Errorf("%v is called %v", level, found["level"])
		}
	}
}

// TestARouteServerLogsObjects runs the program itself.
func TestARouteServerLogsObjects(t *testing.T) {
	if os.Getenv("WEFT_TEST_ARGUMENTS") != "" {
		os.Args = append([]string{"weft-routeserver"}, strings.Split(os.Getenv("WEFT_TEST_ARGUMENTS"), " ")...)
		main()
		return
	}
	control := free(t)
	arguments := []string{"--name", "rs1", "--listen", free(t), "--control", control, "--token-file", tokenFile(t, "secret"),
		"--state", t.TempDir(), "--confirm-wait", "1ms", "--log-level", "debug"}
	program := exec.Command(os.Args[0], "-test.run", "^TestARouteServerLogsObjects$")
	program.Env = append(os.Environ(), "WEFT_TEST_ARGUMENTS="+strings.Join(arguments, " "), "WEFT_LOG_FORMAT=json")
	stderr, err := program.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Process.Kill() })
	until(t, "the control API", func() bool { return call(control, "GET", "/healthz", "") == http.StatusOK })
	for _, value := range hostile {
		ask(t, control, value)
	}
	_ = program.Process.Signal(os.Interrupt)
	text, err := io.ReadAll(stderr)
	if err != nil {
		t.Fatal(err)
	}
	_ = program.Wait()
	messages := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		found := object(t, line)
		messages[found["message"].(string)] = true
		if found["route_server"] != "rs1" || strings.Contains(line, "secret") {
			t.Errorf("without its name, or with its token: %q", line)
		}
	}
	for _, message := range []string{"route server started", "a request failed", "route server stopped"} {
		if !messages[message] {
			t.Errorf("no %q in %s", message, text)
		}
	}
}

func TestAnUnknownFormOfTheLogIsRefused(t *testing.T) {
	_, err := parse([]string{"--listen", "127.0.0.1:1", "--token-file", tokenFile(t, "secret"), "--state", t.TempDir(), "--log-format", "xml"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "--log-format") {
		t.Errorf("%v", err)
	}
}
