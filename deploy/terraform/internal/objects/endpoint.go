package objects

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"weft/deploy/terraform/internal/api"
)

type endpoint struct {
	ID           types.String `tfsdk:"id"`
	Name         types.String `tfsdk:"name"`
	Cloudlet     types.String `tfsdk:"cloudlet"`
	Prefix       types.String `tfsdk:"prefix"`
	Prefix6      types.String `tfsdk:"prefix6"`
	Ports        types.List   `tfsdk:"ports"`
	VNI          types.Int64  `tfsdk:"vni"`
	MTU          types.Int64  `tfsdk:"mtu"`
	LeaseSeconds types.Int64  `tfsdk:"lease_seconds"`
	MaxRoutes    types.Int64  `tfsdk:"max_routes"`
	Tenant       types.String `tfsdk:"tenant"`
	Gateway      types.String `tfsdk:"gateway"`
	Gateway6     types.String `tfsdk:"gateway6"`
	Flavour      types.String `tfsdk:"flavour"`
	Site         types.Int64  `tfsdk:"site"`
	Index        types.Int64  `tfsdk:"index"`
	RT           types.String `tfsdk:"rt"`
	RD           types.String `tfsdk:"rd"`
	Capacity     types.Int64  `tfsdk:"capacity"`
}

type endpointAnswer struct {
	Name, Cloudlet, Flavour, Prefix, Gateway, RT, RD string
	Prefix6, Gateway6, Tenant                        *string
	Ports                                            []string
	Site, Index, MTU, Capacity                       int64
	LeaseSeconds                                     int64 `json:"lease_seconds"`
	VNI                                              *int64
	MaxRoutes                                        *int64 `json:"max_routes"`
}

var _ noun[endpoint] = (*endpoint)(nil)

func (e *endpoint) named() string { return e.Name.ValueString() }

func (e *endpoint) body(context.Context) fields {
	made := fields{}
	made.given("name", e.Name)
	made.given("cloudlet", e.Cloudlet)
	made.given("prefix", e.Prefix)
	made.given("prefix6", e.Prefix6)
	made.given("ports", e.Ports)
	made.given("vni", e.VNI)
	made.given("mtu", e.MTU)
	made.given("lease_seconds", e.LeaseSeconds)
	made.given("max_routes", e.MaxRoutes)
	made.given("tenant", e.Tenant)
	return made
}

func (e *endpoint) patch(_ context.Context, before *endpoint) fields {
	changed := fields{}
	changed.altered("prefix", before.Prefix, e.Prefix)
	changed.altered("prefix6", before.Prefix6, e.Prefix6)
	changed.altered("ports", before.Ports, e.Ports)
	changed.altered("vni", before.VNI, e.VNI)
	changed.altered("mtu", before.MTU, e.MTU)
	changed.altered("lease_seconds", before.LeaseSeconds, e.LeaseSeconds)
	changed.altered("max_routes", before.MaxRoutes, e.MaxRoutes)
	changed.altered("tenant", before.Tenant, e.Tenant)
	return changed
}

func (e *endpoint) fill(_ context.Context, answer *api.Answer) error {
	found := endpointAnswer{}
	if err := answer.Read(&found); err != nil {
		return err
	}
	e.ID, e.Name = types.StringValue(found.Name), types.StringValue(found.Name)
	e.Cloudlet, e.Flavour = types.StringValue(found.Cloudlet), types.StringValue(found.Flavour)
	e.Prefix, e.Prefix6 = spelt(e.Prefix, &found.Prefix, asPrefix), spelt(e.Prefix6, found.Prefix6, asPrefix)
	e.Ports, e.Tenant = list(found.Ports), types.StringPointerValue(found.Tenant)
	e.VNI, e.MTU = types.Int64PointerValue(found.VNI), types.Int64Value(found.MTU)
	e.LeaseSeconds, e.MaxRoutes = types.Int64Value(found.LeaseSeconds), types.Int64PointerValue(found.MaxRoutes)
	e.Gateway, e.Gateway6 = types.StringValue(found.Gateway), types.StringPointerValue(found.Gateway6)
	e.Site, e.Index = types.Int64Value(found.Site), types.Int64Value(found.Index)
	e.RT, e.RD, e.Capacity = types.StringValue(found.RT), types.StringValue(found.RD), types.Int64Value(found.Capacity)
	return nil
}
