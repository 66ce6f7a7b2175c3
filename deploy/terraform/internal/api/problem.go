package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
)

// FieldError is one error of a request. Field is a dotted path into it. Errors of policies and inventories have their
// place in the file. Suggestion is the value that was probably meant.
type FieldError struct {
	Field, Message, File, Suggestion string
	Line, Column                     int
}

// Problem is a refusal of the controller (RFC 9457). InDoubt: an earlier attempt may have made the change.
type Problem struct {
	Type, Title, Detail, Diff string
	Status                    int
	Errors                    []FieldError
	InDoubt                   bool `json:"-"`
	unnamed                   bool // no token was sent
}

// nothingHere is the controller's answer for a path that its release does not have.
const nothingHere = "There is nothing here."

func (p *Problem) Error() string { return p.Title + ": " + p.Detail }

// Slug returns the kind of the problem, such as `conflict` or `plan-changed`.
func (p *Problem) Slug() string { return strings.TrimPrefix(p.Type, "/problems/") }

// Remedy returns what to do about it, as far as this is not in the detail; empty otherwise.
func (p *Problem) Remedy() string {
	var said []string
	if p.Status == http.StatusUnauthorized && p.unnamed {
		said = append(said, "No token is given: set `token` or `token_file` of the provider, WEFT_TOKEN or WEFT_TOKEN_FILE.")
	}
	if p.InDoubt {
		said = append(said, inDoubt)
	}
	return strings.Join(said, "\n")
}

// IsMissing returns whether an error says that the addressed object does not exist.
func IsMissing(err error) bool {
	problem, ok := errors.AsType[*Problem](err)
	return ok && problem.Status == http.StatusNotFound && problem.Detail != nothingHere
}

// Unreachable means that no controller answers, or something else does.
type Unreachable struct {
	URL, Reason string
	InDoubt     bool
}

const inDoubt = "The change may have been made all the same: look before you apply again."

func (u *Unreachable) Error() string {
	if u.InDoubt {
		return fmt.Sprintf("%s: %s. %s", u.URL, u.Reason, inDoubt)
	}
	return u.URL + ": " + u.Reason
}

// problemOf returns the problem in an answer; nil if it has none, as another program sent it.
func problemOf(status int, mediaType string, body []byte) *Problem {
	kind, _, err := mime.ParseMediaType(mediaType)
	if err != nil || kind != "application/problem+json" {
		return nil
	}
	found := Problem{}
	if json.Unmarshal(body, &found) != nil || found.Title == "" {
		return nil
	}
	found.Status = status
	return &found
}

// Detail returns what the controller says of a problem.
func Detail(err error) string {
	if problem, ok := errors.AsType[*Problem](err); ok {
		return problem.Detail
	}
	return err.Error()
}
