// Package texts has the resources that are one text for the whole region: the policy and the inventory. The controller
// plans a text, and applies it exactly as planned or not at all.
package texts

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"weft/deploy/terraform/internal/api"
	"weft/deploy/terraform/internal/said"
)

// text is the resource of one kind of text.
type text struct {
	noun     string   // also the path below /api/v1, and the resource's id
	nothing  string   // the text that removes all that an earlier one has made
	planning []string // options of the controller's plan, which are options of an application as well
	applying []string // options of an application
	schema   schema.Schema
	steps    func(*api.Answer) ([]string, error)
	secrets  bool // an application may tell one-time tokens
	client   *api.Client
}

// inForce is the text in force.
type inForce struct {
	Revision *int64
	ETag     string
	Filename *string
	Text     string
}

func (t *text) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + t.noun
}

func (t *text) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = t.schema
}

func (t *text) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	t.client, _ = req.ProviderData.(*api.Client)
}

// ImportState takes any id: there is one text.
func (t *text) ImportState(ctx context.Context, _ resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("id"), t.noun)...)
}

func (t *text) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	wanted := t.read(ctx, req.Plan, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	there, failed := t.inForce(ctx)
	if resp.Diagnostics.Append(failed...); failed.HasError() {
		return
	}
	if !t.absent(there) {
		resp.Diagnostics.AddError(fmt.Sprintf("There is a %s in force already", t.noun), t.foreign(there))
		return
	}
	wanted.tokens = tokens(nil)
	wanted.apply(ctx, t, there.ETag, &resp.Diagnostics)
	wanted.write(ctx, t, &resp.State, &resp.Diagnostics)
}

func (t *text) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	present := t.read(ctx, req.State, &resp.Diagnostics)
	there, failed := t.inForce(ctx)
	if resp.Diagnostics.Append(failed...); resp.Diagnostics.HasError() {
		return
	}
	if t.absent(there) {
		resp.State.RemoveResource(ctx)
		return
	}
	present.id, present.text = types.StringValue(t.noun), types.StringValue(there.Text)
	present.etag, present.revision = types.StringValue(there.ETag), types.Int64PointerValue(there.Revision)
	if present.filename.IsNull() { // imported
		present.filename = types.StringPointerValue(there.Filename)
		present.planned, present.steps = types.StringValue(""), steps(nil)
		present.imported(t)
	}
	present.write(ctx, t, &resp.State, &resp.Diagnostics)
}

func (t *text) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	before, wanted := t.read(ctx, req.State, &resp.Diagnostics), t.read(ctx, req.Plan, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if wanted.etag.IsUnknown() { // else options alone have changed
		wanted.tokens = before.tokens
		wanted.apply(ctx, t, before.etag.ValueString(), &resp.Diagnostics)
	}
	wanted.write(ctx, t, &resp.State, &resp.Diagnostics)
}

// Delete puts the text in force that names nothing: there is always one.
func (t *text) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	present := t.read(ctx, req.State, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	query := present.query(t.applying)
	query.Set("filename", present.filename.ValueString())
	query.Del("strict")
	answer, err := t.client.Send(ctx, api.Request{
		Method: http.MethodPost, Path: api.Path(t.noun, "apply"), Text: t.nothing, Query: query,
		IfMatch: present.etag.ValueString(),
	})
	if err != nil {
		resp.Diagnostics.Append(said.Document{Text: t.nothing}.Failed("remove the "+t.noun, err)...)
		return
	}
	resp.Diagnostics.Append(said.Delayed("remove the "+t.noun, answer)...)
}

// inForce returns the text in force.
func (t *text) inForce(ctx context.Context) (inForce, diag.Diagnostics) {
	found := inForce{}
	answer, err := t.client.Get(ctx, api.Path(t.noun))
	if err == nil {
		err = answer.Read(&found)
	}
	if err != nil {
		return found, said.Failed("read the "+t.noun, err, said.Nowhere)
	}
	return found, nil
}

// absent returns whether no text is in force, or the one that Delete has left.
func (t *text) absent(there inForce) bool { return there.Revision == nil || there.Text == t.nothing }

// foreign says which text is in force that this configuration does not know.
func (t *text) foreign(there inForce) string {
	name := ""
	if there.Filename != nil {
		name = ", " + *there.Filename
	}
	return fmt.Sprintf("Revision %d%s is in force, and is not in the state: import it (`terraform import ADDRESS %s`), and "+
		"see in the plan what your text changes.", *there.Revision, name, t.noun)
}

// query returns the options that are set.
func (v *values) query(names []string) url.Values {
	found := url.Values{}
	for name, value := range v.options {
		if slices.Contains(names, name) && value.ValueBool() {
			found.Set(name, "true")
		}
	}
	if slices.Contains(names, tokenSeconds) && !v.seconds.IsNull() {
		found.Set(tokenSeconds, strconv.FormatInt(v.seconds.ValueInt64(), 10))
	}
	return found
}
