package objects

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"weft/deploy/terraform/internal/api"
	"weft/deploy/terraform/internal/said"
)

// entityTag is the key of the entity tag in a resource's private state.
const entityTag = "etag"

// kept and store are the private state of a resource, to read and to write.
type kept interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

type store interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// work is the change of one object. Its first request holds only if the object is still as the plan saw it.
type work struct {
	client      *api.Client
	about       string
	private     kept
	places      said.Places
	diagnostics *diag.Diagnostics
}

// send sends a change, and returns the answer; nil if it failed, as the diagnostics then say. An object that is to be
// removed may be gone already.
func (w *work) send(ctx context.Context, verb, method, path string, body fields) *api.Answer {
	request := api.Request{Method: method, Path: path, IfMatch: w.tag(ctx)}
	if body != nil {
		request.Body = body
	}
	answer, err := w.client.Send(ctx, request)
	if method == http.MethodDelete && api.IsMissing(err) {
		return &api.Answer{Body: json.RawMessage("{}")}
	}
	if w.failed(verb, err) {
		return nil
	}
	w.diagnostics.Append(said.Delayed(verb+" "+w.about, answer)...)
	return answer
}

// failed notes an error, and returns whether there is one.
func (w *work) failed(verb string, err error) bool {
	if err == nil {
		return false
	}
	w.diagnostics.Append(said.Failed(verb+" "+w.about, err, w.places)...)
	return true
}

// tag returns the entity tag that the plan saw, once: the first request changes it.
func (w *work) tag(ctx context.Context) string {
	if w.private == nil {
		return ""
	}
	value, diagnostics := w.private.GetKey(ctx, entityTag)
	w.diagnostics.Append(diagnostics...)
	w.private = nil
	tag := ""
	if len(value) > 0 && json.Unmarshal(value, &tag) != nil {
		return ""
	}
	return tag
}

// written returns an entity tag as private state keeps it.
func written(tag string) []byte {
	value, err := json.Marshal(tag)
	if err != nil { // a string always can be
		return []byte(`""`)
	}
	return value
}
