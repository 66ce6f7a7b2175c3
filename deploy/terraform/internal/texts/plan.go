package texts

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"weft/deploy/terraform/internal/api"
	"weft/deploy/terraform/internal/said"
)

// planned is the controller's plan of a text.
type planned struct {
	Planned     string
	Warnings    []api.FieldError
	Unconsented []string
	Disconnects []struct{ At api.FieldError }
	Leases      []struct{ Endpoint, Device, Kind, Address, Why string }
	Tests       []struct {
		Outcome string
		Said    api.FieldError
	}
	Change api.Effect
}

// digest returns the plan's mark without the generation at which it was made: the same content at another generation is
// the same plan.
func (p planned) digest() string {
	_, digest, _ := strings.Cut(p.Planned, "-")
	return digest
}

// mark returns the form in which the controller takes a digest.
func mark(digest string) string { return "0-" + digest }

// ModifyPlan has the controller plan the text. Its steps and its mark become part of Terraform's plan, so that Terraform,
// which asks again before it applies, finds out if the steps are others by then; and the controller does the same.
func (t *text) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if t.client == nil || req.Plan.Raw.IsNull() || !req.Config.Raw.IsFullyKnown() {
		return // a text with values that are known later is planned when they are
	}
	wanted, before := t.read(ctx, req.Plan, &resp.Diagnostics), (*values)(nil)
	if !req.State.Raw.IsNull() {
		before = t.read(ctx, req.State, &resp.Diagnostics)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	document := said.Document{Text: wanted.text.ValueString()}
	lines, plan := t.plan(ctx, wanted, document, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	same := before != nil && wanted.text.Equal(before.text)
	if same && len(lines) > 0 { // the steps may be those of the last time, which a plan does not show
		resp.Diagnostics.AddWarning("The region has drifted from the "+t.noun, strings.Join(lines, "\n"))
	}
	if same && len(lines) == 0 {
		wanted.id, wanted.planned, wanted.steps, wanted.etag = before.id, before.planned, before.steps, before.etag
		wanted.revision, wanted.tokens = before.revision, before.tokens
	} else {
		wanted.refused(plan, document, &resp.Diagnostics)
		resp.Diagnostics.Append(said.Interrupting("apply the "+t.noun, plan.Change)...)
		wanted.planned, wanted.steps = types.StringValue(plan.digest()), steps(lines)
		wanted.etag, wanted.revision = types.StringUnknown(), types.Int64Unknown()
		if t.secrets {
			wanted.tokens = types.MapUnknown(types.StringType)
		}
	}
	wanted.write(ctx, t, &resp.Plan, &resp.Diagnostics)
}

// plan returns the steps that a text would take, and the rest of the controller's plan.
func (t *text) plan(
	ctx context.Context, wanted *values, document said.Document, diagnostics *diag.Diagnostics,
) ([]string, planned) {
	query, found := wanted.query(t.planning), planned{}
	query.Set("filename", wanted.filename.ValueString())
	answer, err := t.client.Send(ctx, api.Request{
		Method: http.MethodPost, Path: api.Path(t.noun, "plan"), Text: document.Text, Query: query, Reads: true,
	})
	var lines []string
	if err == nil {
		err = answer.Read(&found)
	}
	if err == nil {
		lines, err = t.steps(answer)
	}
	if err != nil {
		diagnostics.Append(document.Failed("plan the "+t.noun, err)...)
		return nil, found
	}
	for _, one := range found.Warnings {
		diagnostics.Append(document.Warning(one))
	}
	return lines, found
}

// refused notes why the controller would refuse to apply the text, though it can be planned, and what it would undo.
func (v *values) refused(found planned, document said.Document, diagnostics *diag.Diagnostics) {
	for _, test := range found.Tests {
		if test.Outcome == "failed" || test.Outcome == "wrong" {
			diagnostics.Append(document.Error(test.Said, "A text whose tests fail is not applied."))
		}
	}
	for _, one := range found.Leases {
		diagnostics.AddWarning("A lease that the new address plan would not give",
			fmt.Sprintf("%s (%s) holds %s at %s: %s", one.Device, one.Kind, one.Address, one.Endpoint, one.Why))
	}
	for _, one := range found.Disconnects {
		if v.options["allow_disconnect"].ValueBool() {
			diagnostics.Append(document.Warning(one.At))
		} else {
			diagnostics.Append(document.Error(one.At, "Set allow_disconnect = true if this is meant."))
		}
	}
	if len(found.Unconsented) > 0 && !v.options["hold_back"].ValueBool() && !v.options["count_consented"].ValueBool() {
		diagnostics.AddError("Tenants have not consented to: "+strings.Join(found.Unconsented, ", "),
			"Set hold_back = true to take these endpoints out of their pools until their tenants consent, or "+
				"count_consented = true if these have consented before.")
	}
}
