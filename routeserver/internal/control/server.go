// Package control is the route server's HTTP API: rule sets in, receipts, looking glass, events and metrics out.
package control

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"weft/routeserver/connections"
	"weft/routeserver/internal/bmp"
	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/session"
	"weft/routeserver/internal/twin"
)

// maxBody bounds a request: a rule set of a region is a few hundred kilobytes.
const maxBody = 64 << 20

// Limits of requests without the token: so many a second from one address, and ten times that at once; and the number
// of addresses to remember.
const strangersPerSecond, strangersKnown = 20, 4096

// patience is the time that a rule set of that size takes over 20 Mbit/s.
const patience = 30 * time.Second

// Server answers the control API.
type Server struct {
	Engine       *engine.Engine
	Sessions     *session.Server
	Twin         *twin.Twin     // nil: there is none
	Stations     []*bmp.Station // of BMP
	Token        string
	MetricsToken string // token for the metrics alone; empty: there is none
	Started      time.Time
	Version      string // of the program
	Log          *slog.Logger
	Patience     time.Duration // how long a body may take to arrive; 0: patience
}

// Handler returns the API. Everything but /healthz requires the token.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", s.status)
	mux.HandleFunc("GET /v1/standing", s.standing)
	mux.HandleFunc("GET /v1/ruleset", s.ruleset)
	mux.HandleFunc("PUT /v1/ruleset", s.replace)
	mux.HandleFunc("POST /v1/changes", s.change)
	mux.HandleFunc("POST /v1/confirm", s.confirm)
	mux.HandleFunc("POST /v1/heartbeat", s.heartbeat)
	mux.HandleFunc("POST /v1/peers/{peer}/reset", s.reset)
	mux.HandleFunc("POST /v1/peers/{peer}/release", s.release)
	mux.HandleFunc("POST /v1/peers/{peer}/refresh", s.refresh)
	mux.HandleFunc("GET /v1/counts", s.counts)
	mux.HandleFunc("GET /v1/held", s.held)
	mux.HandleFunc("GET /v1/lookup", s.lookup)
	mux.HandleFunc("GET /v1/paths", s.paths)
	mux.HandleFunc("GET /v1/keys", s.keys)
	mux.HandleFunc("PUT /v1/keys", s.tell)
	mux.HandleFunc("GET /v1/routes", s.routes)
	mux.HandleFunc("GET /v1/explain", s.explain)
	mux.HandleFunc("GET /v1/watch", s.watch)
	mux.HandleFunc("GET /v1/diff", s.diff)
	mux.HandleFunc("GET /v1/events", s.events)
	mux.Handle("GET /metrics", s.metrics())
	open := http.NewServeMux()
	open.HandleFunc("GET /healthz", s.health)
	open.Handle("/", s.authorised(problems(mux), connections.NewStrangers(strangersPerSecond, strangersKnown)))
	return s.timely(open)
}

// timely ends a request whose body does not arrive in time. A streamed answer has no limit.
func (s *Server) timely(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			limit := s.Patience
			if limit == 0 {
				limit = patience
			}
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(limit))
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) authorised(next http.Handler, strangers *connections.Strangers) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		reader := s.MetricsToken != "" && r.URL.Path == "/metrics" && same(token, s.MetricsToken)
		if !reader && !same(token, s.Token) {
			if !strangers.Admit(r.RemoteAddr, time.Now()) {
				w.Header().Set("Retry-After", "1")
				w.Header().Set("Connection", "close")
				fail(w, http.StatusTooManyRequests, "too-many", "", "too many requests without the token")
				return
			}
			w.Header().Set("WWW-Authenticate", "Bearer")
			fail(w, http.StatusUnauthorized, "unauthorized", "", "the bearer token is missing or wrong")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// same compares tokens in a time that does not depend on them.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// problems gives the multiplexer's own errors the form of all other errors.
func problems(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern == "" {
			probe := &statusOnly{header: http.Header{}}
			mux.ServeHTTP(probe, r)
			if allow := probe.header.Get("Allow"); allow != "" {
				w.Header().Set("Allow", allow)
				fail(w, http.StatusMethodNotAllowed, "method", "", fmt.Sprintf("%s takes %s, not %s", r.URL.Path, allow, r.Method))
				return
			}
			fail(w, http.StatusNotFound, "not-found", "", fmt.Sprintf("there is nothing at %s", r.URL.Path))
			return
		}
		mux.ServeHTTP(w, r)
	})
}

type statusOnly struct{ header http.Header }

func (s *statusOnly) Header() http.Header         { return s.header }
func (s *statusOnly) Write(b []byte) (int, error) { return len(b), nil }
func (s *statusOnly) WriteHeader(int)             {}

// failure is the body of every error.
type failure struct {
	Error struct {
		Code       string  `json:"code"`
		Message    string  `json:"message"`
		Field      string  `json:"field,omitempty"`
		Generation *uint64 `json:"generation,omitempty"`
	} `json:"error"`
}

// peerOf returns the peer that a request's path names, and whether the rule set has it. If not, the request is answered.
func (s *Server) peerOf(w http.ResponseWriter, r *http.Request) (string, bool) {
	peer := r.PathValue("peer")
	_, known := s.Engine.Set().Peer(peer)
	if !known {
		fail(w, http.StatusNotFound, "not-found", "", fmt.Sprintf("there is no peer %q", peer))
	}
	return peer, known
}

func fail(w http.ResponseWriter, status int, code, field, message string) {
	var f failure
	f.Error.Code, f.Error.Message, f.Error.Field = code, message, field
	reply(w, status, f)
}

// failWith replies with the status for an error of the engine or of a document.
func (s *Server) failWith(w http.ResponseWriter, err error) {
	var bad *ruleset.Invalid
	var conflict *engine.Conflict
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &bad):
		fail(w, http.StatusBadRequest, "invalid", bad.Field, bad.Error())
	case errors.As(err, &conflict):
		var f failure
		f.Error.Code, f.Error.Message, f.Error.Generation = "generation", conflict.Message, &conflict.Generation
		reply(w, http.StatusConflict, f)
	case errors.As(err, &long):
		fail(w, http.StatusRequestEntityTooLarge, "too-large", "", "the request is longer than 64 MiB")
	case errors.Is(err, os.ErrDeadlineExceeded):
		fail(w, http.StatusRequestTimeout, "too-slow", "", "the request did not arrive in time")
	default:
		s.Log.Error("a request failed", "error", err)
		fail(w, http.StatusInternalServerError, "internal", "", err.Error())
	}
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	return io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
}

// readOptional reads an optional JSON object with a single field; example is for the error text. It returns false if it
// has already answered the request with an error.
func (s *Server) readOptional(w http.ResponseWriter, r *http.Request, into any, field, example string) bool {
	body, err := read(w, r)
	if err != nil {
		s.failWith(w, err)
		return false
	}
	if len(body) == 0 {
		return true
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		fail(w, http.StatusBadRequest, "invalid", field, fmt.Sprintf(`%s: nothing or a JSON object like {"%s": "%s"} is expected`, field, field, example))
		return false
	}
	return true
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]string{"status": "ok"})
}
