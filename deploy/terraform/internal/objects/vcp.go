package objects

import (
	"context"
	"net/http"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"weft/deploy/terraform/internal/api"
)

type vcp struct {
	ID              types.String `tfsdk:"id"`
	Name            types.String `tfsdk:"name"`
	Flavour         types.String `tfsdk:"flavour"`
	Description     types.String `tfsdk:"description"`
	Members         types.Set    `tfsdk:"members"`
	ManagedByPolicy types.Bool   `tfsdk:"managed_by_policy"`
}

type vcpAnswer struct {
	Name, Flavour, Description string
	Members                    []string
	ManagedByPolicy            bool `json:"managed_by_policy"`
}

var _ noun[vcp] = (*vcp)(nil)
var _ completed[vcp] = (*vcp)(nil)

func (v *vcp) named() string { return v.Name.ValueString() }

func (v *vcp) body(context.Context) fields {
	made := fields{}
	made.given("name", v.Name)
	made.given("flavour", v.Flavour)
	made.given("description", v.Description)
	return made
}

// patch returns nothing: members alone change, and they join and leave.
func (v *vcp) patch(context.Context, *vcp) fields { return nil }

// fill leaves members alone that the configuration leaves to others.
func (v *vcp) fill(_ context.Context, answer *api.Answer) error {
	found := vcpAnswer{}
	if err := answer.Read(&found); err != nil {
		return err
	}
	if imported := v.Flavour.IsNull(); imported || !v.Members.IsNull() {
		v.Members = set(found.Members)
	}
	v.ID, v.Name = types.StringValue(found.Name), types.StringValue(found.Name)
	v.Flavour, v.Description = types.StringValue(found.Flavour), types.StringValue(found.Description)
	v.ManagedByPolicy = types.BoolValue(found.ManagedByPolicy)
	return nil
}

// complete lets members leave and join, in this order, as an endpoint that joins may take the place of one that leaves. It
// does what the plan shows: an endpoint that joined meanwhile stays, and the next plan shows it. The pool's entity tag says
// nothing here, since the removal of an endpoint, perhaps by the same plan, changes it.
func (v *vcp) complete(ctx context.Context, work *work, before, wanted *vcp) {
	if wanted.Members.IsNull() {
		return
	}
	work.private = nil
	there, then := members(ctx, v.Members), members(ctx, wanted.Members)
	known := there
	if before != nil && !before.Members.IsNull() {
		known = members(ctx, before.Members)
	}
	for _, one := range there {
		if slices.Contains(known, one) && !slices.Contains(then, one) && !v.left(ctx, work, one) {
			return
		}
	}
	for _, one := range then {
		if !slices.Contains(there, one) && !v.joined(ctx, work, one) {
			return
		}
	}
	v.Members = wanted.Members
}

// outdated returns whether members have left with their endpoints. An endpoint that is replaced in the same apply is removed
// in between, and the pool then has the same members in state and plan. Without an answer, the change itself fails.
func (v *vcp) outdated(ctx context.Context, client *api.Client) bool {
	answer, err := client.Get(ctx, api.Path("vcps", v.named()))
	found := vcpAnswer{}
	if err != nil || answer.Read(&found) != nil || v.Members.IsNull() {
		return false
	}
	return !slices.Equal(members(ctx, v.Members), members(ctx, set(found.Members)))
}

// empty lets all members leave that the configuration has put there.
func (v *vcp) empty(ctx context.Context, work *work) {
	work.private = nil
	for _, one := range members(ctx, v.Members) {
		if !v.left(ctx, work, one) {
			return
		}
	}
}

func (v *vcp) joined(ctx context.Context, work *work, endpoint string) bool {
	path := api.Path("vcps", v.named(), "members")
	if work.send(ctx, "let "+endpoint+" join", http.MethodPost, path, fields{"endpoint": endpoint}) == nil {
		return false
	}
	v.Members = set(append(members(ctx, v.Members), endpoint))
	return true
}

func (v *vcp) left(ctx context.Context, work *work, endpoint string) bool {
	path := api.Path("vcps", v.named(), "members", endpoint)
	if work.send(ctx, "let "+endpoint+" leave", http.MethodDelete, path, nil) == nil {
		return false
	}
	v.Members = set(slices.DeleteFunc(members(ctx, v.Members), func(one string) bool { return one == endpoint }))
	return true
}

// members returns a set's names, sorted.
func members(ctx context.Context, from types.Set) []string {
	found := []string{}
	if !from.IsNull() && !from.IsUnknown() {
		from.ElementsAs(ctx, &found, false)
	}
	slices.Sort(found)
	return found
}
