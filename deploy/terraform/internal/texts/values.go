package texts

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

const tokenSeconds, enrolmentTokens = "token_seconds", "enrolment_tokens"

// values are the values of the attributes of a text. Options are those that are true or false.
type values struct {
	id, text, filename, planned, etag types.String
	steps                             types.List
	revision, seconds                 types.Int64
	tokens                            types.Map
	options                           map[string]types.Bool
}

// source and target are a plan or a state, to read and to write.
type source interface {
	GetAttribute(ctx context.Context, at path.Path, into any) diag.Diagnostics
}

type target interface {
	SetAttribute(ctx context.Context, at path.Path, value any) diag.Diagnostics
}

// read returns the values in a plan or state.
func (t *text) read(ctx context.Context, from source, diagnostics *diag.Diagnostics) *values {
	found := &values{options: map[string]types.Bool{}}
	get := func(name string, into any) {
		diagnostics.Append(from.GetAttribute(ctx, path.Root(name), into)...)
	}
	get("id", &found.id)
	get("text", &found.text)
	get("filename", &found.filename)
	get("planned", &found.planned)
	get("etag", &found.etag)
	get("steps", &found.steps)
	get("revision", &found.revision)
	if t.secrets {
		get(tokenSeconds, &found.seconds)
		get(enrolmentTokens, &found.tokens)
	}
	for _, name := range t.applying {
		if name != tokenSeconds {
			var value types.Bool
			get(name, &value)
			found.options[name] = value
		}
	}
	return found
}

// write puts the values into a plan or state. If an error is known already, that is left as it was.
func (v *values) write(ctx context.Context, t *text, into target, diagnostics *diag.Diagnostics) {
	if diagnostics.HasError() {
		return
	}
	put := func(name string, value attr.Value) {
		diagnostics.Append(into.SetAttribute(ctx, path.Root(name), value)...)
	}
	put("id", v.id)
	put("text", v.text)
	put("filename", v.filename)
	put("planned", v.planned)
	put("etag", v.etag)
	put("steps", v.steps)
	put("revision", v.revision)
	if t.secrets {
		put(tokenSeconds, v.seconds)
		put(enrolmentTokens, v.tokens)
	}
	for name, value := range v.options {
		put(name, value)
	}
}

// imported gives options their defaults, as nothing else is known of them.
func (v *values) imported(t *text) {
	for name := range v.options {
		v.options[name] = types.BoolValue(false)
	}
	if t.secrets {
		v.seconds, v.tokens = types.Int64Value(defaultTokenSeconds), tokens(nil)
	}
}

func steps(lines []string) types.List {
	found := make([]attr.Value, len(lines))
	for i, line := range lines {
		found[i] = types.StringValue(line)
	}
	return types.ListValueMust(types.StringType, found)
}

func tokens(told map[string]string) types.Map {
	found := map[string]attr.Value{}
	for name, token := range told {
		found[name] = types.StringValue(token)
	}
	return types.MapValueMust(types.StringType, found)
}
