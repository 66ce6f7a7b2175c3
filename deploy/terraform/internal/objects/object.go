// Package objects has the resources that are single objects of the controller: cloudlets, endpoints, devices, VMs, VCPs.
package objects

import (
	"context"
	"net/http"
	"net/url"
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"weft/deploy/terraform/internal/api"
	"weft/deploy/terraform/internal/said"
)

// fields are those of a request's body, in the API's names.
type fields map[string]any

// noun is the state of one object: the values of a resource's attributes.
type noun[T any] interface {
	named() string                               // its name, which is its id
	body(ctx context.Context) fields             // of the POST that makes it
	patch(ctx context.Context, before *T) fields // of the PATCH that makes it of `before`; empty: nothing is to be changed
	fill(ctx context.Context, answer *api.Answer) error
}

// model is a pointer to such a state.
type model[T any] interface {
	*T
	noun[T]
}

// completed is a model with more to do after it is made or changed. `before` is the one in the state, nil for a new object,
// and `wanted` the planned one.
type completed[T any] interface {
	complete(ctx context.Context, work *work, before, wanted *T)
}

// emptied is a model with something to do before it can be removed.
type emptied interface {
	empty(ctx context.Context, work *work)
}

// dependent is a model that changes when objects are removed on which it stands. outdated returns whether the controller
// has another one than the state, so that a plan which changes nothing in the state has something to do.
type dependent interface {
	outdated(ctx context.Context, client *api.Client) bool
}

// object is the resource of one kind of objects.
type object[T any, M model[T]] struct {
	noun, collection string
	schema           schema.Schema
	aliases          map[string]string
	rehearses        bool   // a PATCH of it can be rehearsed
	volatile         string // an attribute that is known after an update alone, of a dependent model
	validators       []resource.ConfigValidator
	client           *api.Client
}

func (o *object[T, M]) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + o.noun
}

func (o *object[T, M]) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = o.schema
}

func (o *object[T, M]) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	o.client, _ = req.ProviderData.(*api.Client)
}

func (o *object[T, M]) ConfigValidators(context.Context) []resource.ConfigValidator {
	return o.validators
}

// ImportState takes the name of the object.
func (o *object[T, M]) ImportState(
	ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse,
) {
	resource.ImportStatePassthroughID(ctx, path.Root("id"), req, resp)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("name"), req.ID)...)
}

// ModifyPlan rehearses a change: the plan says what it interrupts, and what the controller has against it.
func (o *object[T, M]) ModifyPlan(
	ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse,
) {
	updated := !req.State.Raw.IsNull() && !req.Plan.Raw.IsNull()
	if o.client == nil || !updated || !req.Config.Raw.IsFullyKnown() {
		return
	}
	var before, after T
	resp.Diagnostics.Append(req.State.Get(ctx, &before)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &after)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if one, ok := any(&before).(dependent); ok && one.outdated(ctx, o.client) {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(o.volatile), types.BoolUnknown())...)
	}
	changed := M(&after).patch(ctx, &before)
	if !o.rehearses || len(changed) == 0 || replaced(M(&before).body(ctx), M(&after).body(ctx), changed) {
		return
	}
	doing := "change " + o.noun + " " + M(&after).named()
	answer, err := o.client.Send(ctx, api.Request{
		Method: http.MethodPatch, Path: o.path(&after), Body: changed, Reads: true, Query: url.Values{"dry_run": {"true"}},
	})
	if err != nil {
		resp.Diagnostics.Append(said.Foreseen(doing, err, o.places())...)
		return
	}
	resp.Diagnostics.Append(interrupted(doing, answer)...)
}

// replaced returns whether objects differ in more than a change can change.
func replaced(before, after, changed fields) bool {
	for name := range after {
		if _, changes := changed[name]; !changes && !reflect.DeepEqual(before[name], after[name]) {
			return true
		}
	}
	return false
}

func (o *object[T, M]) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var wanted T
	if resp.Diagnostics.Append(req.Plan.Get(ctx, &wanted)...); resp.Diagnostics.HasError() {
		return
	}
	work := o.begin(&wanted, nil, &resp.Diagnostics)
	answer := work.send(ctx, "add", http.MethodPost, api.Path(o.collection), M(&wanted).body(ctx))
	if answer == nil {
		return
	}
	made := wanted
	if work.failed("read", M(&made).fill(ctx, answer)) {
		return
	}
	o.keep(ctx, answer, &made, work, &resp.State, resp.Private)
	o.complete(ctx, &made, nil, &wanted, work, &resp.State)
}

func (o *object[T, M]) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var present T
	if resp.Diagnostics.Append(req.State.Get(ctx, &present)...); resp.Diagnostics.HasError() {
		return
	}
	work := o.begin(&present, nil, &resp.Diagnostics)
	answer, err := o.client.Get(ctx, o.path(&present))
	if api.IsMissing(err) {
		resp.State.RemoveResource(ctx)
		return
	}
	if work.failed("read", err) || work.failed("read", M(&present).fill(ctx, answer)) {
		return
	}
	o.keep(ctx, answer, &present, work, &resp.State, resp.Private)
}

func (o *object[T, M]) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var before, wanted T
	resp.Diagnostics.Append(req.State.Get(ctx, &before)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &wanted)...)
	if resp.Diagnostics.HasError() {
		return
	}
	work := o.begin(&wanted, req.Private, &resp.Diagnostics)
	if changed := M(&wanted).patch(ctx, &before); len(changed) > 0 {
		if work.send(ctx, "change", http.MethodPatch, o.path(&wanted), changed) == nil {
			return
		}
	}
	answer, err := o.client.Get(ctx, o.path(&wanted))
	if work.failed("read", err) {
		return
	}
	present := wanted
	if work.failed("read", M(&present).fill(ctx, answer)) {
		return
	}
	o.keep(ctx, answer, &present, work, &resp.State, resp.Private)
	o.complete(ctx, &present, &before, &wanted, work, &resp.State)
}

func (o *object[T, M]) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var present T
	if resp.Diagnostics.Append(req.State.Get(ctx, &present)...); resp.Diagnostics.HasError() {
		return
	}
	work := o.begin(&present, req.Private, &resp.Diagnostics)
	if full, ok := any(&present).(emptied); ok {
		if full.empty(ctx, work); resp.Diagnostics.HasError() {
			return
		}
	}
	work.send(ctx, "remove", http.MethodDelete, o.path(&present), nil)
}

// complete does what is left to do after the object is made or changed. The state has its progress even if it fails.
func (o *object[T, M]) complete(ctx context.Context, present, before, wanted *T, work *work, state *tfsdk.State) {
	if more, ok := any(present).(completed[T]); ok && !work.diagnostics.HasError() {
		more.complete(ctx, work, before, wanted)
		work.diagnostics.Append(state.Set(ctx, present)...)
	}
}

// keep stores an object as it is, with its entity tag.
func (o *object[T, M]) keep(
	ctx context.Context, answer *api.Answer, present *T, work *work, state *tfsdk.State, private store,
) {
	work.diagnostics.Append(state.Set(ctx, present)...)
	work.diagnostics.Append(private.SetKey(ctx, entityTag, written(answer.ETag))...)
}

func (o *object[T, M]) path(of *T) string { return api.Path(o.collection, M(of).named()) }

func (o *object[T, M]) places() said.Places { return said.Of(o.schema.Attributes, o.aliases) }

func (o *object[T, M]) begin(of *T, private kept, diagnostics *diag.Diagnostics) *work {
	about := o.noun + " " + M(of).named()
	return &work{client: o.client, about: about, private: private, places: o.places(), diagnostics: diagnostics}
}

// interrupted returns a warning that names whose traffic a rehearsed change interrupts. Devices have sentences alone.
func interrupted(doing string, answer *api.Answer) diag.Diagnostics {
	plain := struct{ Interrupted []string }{}
	if answer.Read(&plain) == nil && len(plain.Interrupted) > 0 {
		return said.Sentences(doing, plain.Interrupted)
	}
	effect := api.Effect{}
	if answer.Read(&effect) != nil {
		return nil
	}
	return said.Interrupting(doing, effect)
}
