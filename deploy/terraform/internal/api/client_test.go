package api

import (
	"context"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// asked has the requests to a controller that answers with these in turn. An answer of status 0 is lost: the connection
// ends.
type asked struct {
	mutex    sync.Mutex
	requests []*http.Request
	answers  []answer
}

type answer struct {
	status int
	body   string
	header map[string]string
}

func (a *asked) ServeHTTP(to http.ResponseWriter, request *http.Request) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.requests = append(a.requests, request)
	given := a.answers[min(len(a.requests), len(a.answers))-1]
	if given.status == 0 {
		panic(http.ErrAbortHandler)
	}
	to.Header().Set("Content-Type", "application/json")
	if given.status >= 300 {
		to.Header().Set("Content-Type", "application/problem+json")
	}
	for name, value := range given.header {
		to.Header().Set(name, value)
	}
	to.WriteHeader(given.status)
	_, _ = to.Write([]byte(given.body))
}

func controller(t *testing.T, answers ...answer) (*Client, *asked) {
	t.Helper()
	there := &asked{answers: answers}
	server := httptest.NewServer(there)
	t.Cleanup(server.Close)
	client, err := Open(Settings{URL: server.URL, Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	client.wait = func(context.Context, time.Duration) error { return nil }
	return client, there
}

const refusal = `{"type":"/problems/conflict","title":"Conflict","status":409,"detail":"there is one","errors":` +
	`[{"field":"name","message":"there is one"}]}`

func TestAChangeWhoseAnswerIsLostIsMadeOnce(t *testing.T) {
	client, there := controller(t, answer{}, answer{201, `{"name":"c1"}`, map[string]string{
		"ETag": `"1-1"`, "Idempotency-Replayed": "true",
	}})
	got, err := client.Send(t.Context(), Request{
		Method: "POST", Path: Path("cloudlets"), Body: map[string]any{"name": "c1"}, IfMatch: `"0-0"`,
		Query: url.Values{"dry_run": {"true"}},
	})
	if err != nil || got.ETag != `"1-1"` || !got.Replayed {
		t.Fatal(got, err)
	}
	keys := map[string]bool{}
	for _, request := range there.requests {
		keys[request.Header.Get("Idempotency-Key")] = true
		if request.Header.Get("Authorization") != "Bearer secret" || request.Header.Get("If-Match") != `"0-0"` ||
			request.URL.RequestURI() != "/api/v1/cloudlets?dry_run=true" ||
			request.Header.Get("Content-Type") != "application/json" {
			t.Error(request.URL, request.Header)
		}
	}
	if len(there.requests) != 2 || len(keys) != 1 || keys[""] {
		t.Errorf("%d requests, keys %v", len(there.requests), keys)
	}
}

func TestQuestionsHaveNoKey(t *testing.T) {
	client, there := controller(t, answer{200, "", nil})
	if _, err := client.Send(t.Context(), Request{Method: "POST", Path: "/x", Text: "a: b", Reads: true}); err != nil {
		t.Fatal(err)
	}
	header := there.requests[0].Header
	if header.Get("Idempotency-Key") != "" || header.Get("Content-Type") != "application/yaml" {
		t.Error(header)
	}
}

func TestARefusalIsAProblem(t *testing.T) {
	client, _ := controller(t, answer{409, refusal, nil})
	_, err := client.Get(t.Context(), "/x")
	problem, ok := errors.AsType[*Problem](err)
	if !ok || problem.Slug() != "conflict" || problem.Errors[0].Field != "name" || problem.InDoubt || problem.Remedy() != "" {
		t.Fatalf("%+v", err)
	}
	client, _ = controller(t, answer{}, answer{409, refusal, nil})
	_, err = client.Send(t.Context(), Request{Method: "POST", Path: "/x"})
	if problem, ok = errors.AsType[*Problem](err); !ok || !problem.InDoubt || !strings.Contains(problem.Remedy(), "look before") {
		t.Fatalf("%+v", err)
	}
	client, _ = controller(t, answer{401, `{"title":"Unauthorized","detail":"no token"}`, nil})
	client.token = ""
	_, err = client.Get(t.Context(), "/x")
	if problem, ok = errors.AsType[*Problem](err); !ok || !strings.Contains(problem.Remedy(), "WEFT_TOKEN_FILE") {
		t.Fatalf("%+v", err)
	}
}

func TestAMissingObjectIsNotAMissingPath(t *testing.T) {
	for detail, missing := range map[string]bool{"there is no cloudlet 'c1'": true, nothingHere: false} {
		client, _ := controller(t, answer{404, `{"title":"Not Found","detail":"` + detail + `"}`, nil})
		if _, err := client.Get(t.Context(), "/x"); err == nil || IsMissing(err) != missing {
			t.Error(detail, err)
		}
	}
	client, _ := controller(t, answer{404, "<html>", map[string]string{"Content-Type": "text/html"}})
	if _, err := client.Get(t.Context(), "/x"); IsMissing(err) || !strings.Contains(err.Error(), "is it a controller?") {
		t.Error(err)
	}
}

func TestOtherProgramsAreNotTakenForAController(t *testing.T) {
	for _, given := range []answer{
		{200, "<html>", nil}, {302, "", map[string]string{"Location": "http://192.0.2.1/"}}, {502, "bad gateway", nil},
	} {
		client, there := controller(t, given)
		_, err := client.Get(t.Context(), "/x")
		if _, ok := errors.AsType[*Unreachable](err); !ok || len(there.requests) != 1 {
			t.Errorf("%+v: %v", given, err)
		}
	}
}

func TestAControllerThatIsAwayIsNamed(t *testing.T) {
	client, err := Open(Settings{URL: "unix:///nonexistent/controller.sock"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Get(t.Context(), "/x")
	if err == nil || !strings.Contains(err.Error(), "unix:///nonexistent/controller.sock: ") {
		t.Error(err)
	}
}

func TestASocketIsAsked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "controller.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: &asked{answers: []answer{{200, "{}", nil}}}}}
	server.Start()
	defer server.Close()
	client, err := Open(Settings{URL: "unix://" + path})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Get(t.Context(), "/x"); err != nil {
		t.Error(err)
	}
}

func TestOnlyTheRegionsControllerIsTrusted(t *testing.T) {
	server := httptest.NewTLSServer(&asked{answers: []answer{{200, "{}", nil}}})
	defer server.Close()
	file := filepath.Join(t.TempDir(), "root.pem")
	root := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, root, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, rootFile := range []string{"", file} { // a stranger's certificate, and one for another name
		client, err := Open(Settings{URL: server.URL, RootFile: rootFile})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Get(t.Context(), "/x")
		if err == nil || !strings.Contains(err.Error(), "WEFT_ROOT_FILE") {
			t.Errorf("root file %q: %v", rootFile, err)
		}
	}
}

func TestNamesAreQuotedWhole(t *testing.T) {
	if found := Path("vcps", "a/b", "members"); found != "/api/v1/vcps/a%2Fb/members" {
		t.Error(found)
	}
}
