package texts

import (
	"context"
	"errors"
	"net/http"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"weft/deploy/terraform/internal/api"
	"weft/deploy/terraform/internal/said"
)

type applied struct {
	Revision *int64
	ETag     string
	Tokens   map[string]string
}

// apply puts the text in force as it was planned, on top of the one with that entity tag, or not at all. `tokens` are those
// that were told before.
func (v *values) apply(ctx context.Context, t *text, base string, diagnostics *diag.Diagnostics) {
	document, doing := said.Document{Text: v.text.ValueString()}, "apply the "+t.noun
	query := v.query(t.applying)
	query.Set("filename", v.filename.ValueString())
	query.Set("planned", mark(v.planned.ValueString()))
	answer, err := t.client.Send(ctx, api.Request{
		Method: http.MethodPost, Path: api.Path(t.noun, "apply"), Text: document.Text, Query: query, IfMatch: base,
	})
	found := applied{}
	if err == nil {
		err = answer.Read(&found)
	}
	if problem, ok := errors.AsType[*api.Problem](err); ok && problem.Slug() == "plan-changed" {
		diagnostics.AddError("The region has changed since the plan",
			"The "+t.noun+" would do something else now than what was planned. Nothing was done: plan again.")
		return
	}
	if err != nil {
		diagnostics.Append(document.Failed(doing, err)...)
		return
	}
	diagnostics.Append(said.Delayed(doing, answer)...)
	v.id, v.etag = types.StringValue(t.noun), types.StringValue(found.ETag)
	v.revision = types.Int64PointerValue(found.Revision)
	if !t.secrets {
		return
	}
	if answer.Replayed && found.Tokens == nil {
		diagnostics.AddWarning("Enrolment tokens were lost with the controller's first answer",
			"`weft cloudlet token NAME` makes another for each new cloudlet.")
	}
	v.tokens = more(v.tokens, found.Tokens)
}

// more returns the tokens that were told before and now. The former stay: another value would make hosts anew that have
// them in their user data.
func more(before types.Map, told map[string]string) types.Map {
	found := before.Elements()
	for name, token := range told {
		found[name] = types.StringValue(token)
	}
	return types.MapValueMust(types.StringType, found)
}
