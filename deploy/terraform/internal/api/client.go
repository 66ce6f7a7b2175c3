package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

const (
	timeout = 60 * time.Second // a change waits for every route server and agent concerned
	largest = 64 << 20         // bytes of an answer
	yaml    = "application/yaml"
)

// Client is the conversation with one controller. Its methods return *Problem or *Unreachable as errors.
type Client struct {
	url, base, token string
	http             *http.Client
	wait             func(context.Context, time.Duration) error
}

// Open returns the client for these settings, or a *WrongSetting. It sends nothing.
func Open(settings Settings) (*Client, error) {
	to, err := settings.address()
	if err != nil {
		return nil, err
	}
	token, err := settings.token()
	if err != nil {
		return nil, err
	}
	over, err := transport(to, settings.RootFile)
	if err != nil {
		return nil, err
	}
	base := strings.TrimRight(settings.URL, "/")
	if to.Scheme == "unix" {
		base = "http://controller"
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the token is for one place
	return &Client{
		url: settings.URL, base: base, token: token, wait: sleep,
		http: &http.Client{Transport: over, Timeout: timeout, CheckRedirect: stay},
	}, nil
}

// Path returns a path below /api/v1 made of names, each quoted whole.
func Path(segments ...string) string {
	quoted := make([]string, len(segments))
	for i, segment := range segments {
		quoted[i] = url.PathEscape(segment)
	}
	return "/api/v1/" + strings.Join(quoted, "/")
}

// Request is a request to the controller. Body is sent as JSON, and Text, if there is one, in place of it as YAML.
// Reads: it changes nothing, whatever its method is.
type Request struct {
	Method, Path, IfMatch, Text string
	Query                       url.Values
	Body                        any
	Reads                       bool
}

// Answer is the answer of the controller. Replayed: it is repeated, so it has no secrets.
type Answer struct {
	Body     json.RawMessage
	ETag     string
	Replayed bool
}

// Get returns an object.
func (c *Client) Get(ctx context.Context, path string) (*Answer, error) {
	return c.Send(ctx, Request{Method: http.MethodGet, Path: path, Reads: true})
}

// Send sends a request, again where that is useful and harmless, and returns the answer.
func (c *Client) Send(ctx context.Context, request Request) (*Answer, error) {
	content, mediaType, err := request.content()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", request.Method, request.Path, err)
	}
	header := http.Header{"Accept": {"application/json"}}
	set := func(name, value string) {
		if value != "" {
			header.Set(name, value)
		}
	}
	set("Content-Type", mediaType)
	set("If-Match", request.IfMatch)
	if c.token != "" {
		set("Authorization", "Bearer "+c.token)
	}
	if !request.Reads {
		set("Idempotency-Key", rand.Text())
	}
	to := c.base + request.Path
	if len(request.Query) > 0 {
		to += "?" + request.Query.Encode()
	}
	way := delivery{
		send:  func() outcome { return c.once(ctx, request.Method, to, header, content) },
		reads: request.Reads, wait: c.wait, now: time.Now,
	}
	return c.judged(way.answer(ctx), way.doubtful)
}

func (r Request) content() ([]byte, string, error) {
	if r.Text != "" {
		return []byte(r.Text), yaml, nil
	}
	if r.Body == nil {
		return nil, "", nil
	}
	written, err := json.Marshal(r.Body)
	return written, "application/json", err
}

// once makes one attempt.
func (c *Client) once(ctx context.Context, method, to string, header http.Header, content []byte) outcome {
	var written atomic.Bool
	trace := &httptrace.ClientTrace{WroteHeaders: func() { written.Store(true) }}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), method, to, bytes.NewReader(content))
	if err != nil {
		return outcome{err: err}
	}
	request.Header = header.Clone()
	response, err := c.http.Do(request)
	if err != nil {
		return outcome{err: err, written: written.Load()}
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, largest))
	if err != nil {
		return outcome{err: err, written: true}
	}
	return outcome{status: response.StatusCode, header: response.Header, body: body}
}

// judged turns the last outcome into an answer or an error.
func (c *Client) judged(found outcome, doubtful bool) (*Answer, error) {
	if found.err != nil {
		return nil, &Unreachable{URL: c.url, Reason: c.told(found.err), InDoubt: doubtful}
	}
	replayed := found.header.Get("Idempotency-Replayed") != ""
	if found.status >= 300 {
		problem := problemOf(found.status, found.header.Get("Content-Type"), found.body)
		if problem == nil {
			why := fmt.Sprintf("it answered with status %d, and not as Weft does: is it a controller?", found.status)
			return nil, &Unreachable{URL: c.url, Reason: why, InDoubt: doubtful}
		}
		problem.InDoubt, problem.unnamed = doubtful && !replayed, c.token == ""
		return nil, problem
	}
	answer := &Answer{Body: found.body, ETag: found.header.Get("ETag"), Replayed: replayed}
	if len(found.body) == 0 {
		answer.Body = json.RawMessage("{}")
	}
	if !json.Valid(answer.Body) {
		return nil, &Unreachable{URL: c.url, Reason: "it answered with something that is not JSON of Weft: is it Weft?"}
	}
	return answer, nil
}

// told returns why there is no answer, and what to do about it.
func (c *Client) told(err error) string {
	if wrong, ok := errors.AsType[*url.Error](err); ok {
		err = wrong.Err
	}
	said := err.Error()
	if timed, ok := errors.AsType[net.Error](err); ok && timed.Timeout() {
		return "the controller did not answer in time"
	}
	switch {
	case strings.Contains(said, "permission denied"):
		return said + ": the socket belongs to the controller's user: run as that user or root"
	case strings.Contains(said, "x509:"):
		return said + ": `root_file` or WEFT_ROOT_FILE names the region's root (`weft certificate authority` prints it)"
	}
	return said
}

// Read decodes an answer of the controller, which has to fit.
func (a *Answer) Read(into any) error {
	if err := json.Unmarshal(a.Body, into); err != nil {
		return fmt.Errorf("the controller's answer cannot be read, is it of another release: %w", err)
	}
	return nil
}
