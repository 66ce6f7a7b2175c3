package objects

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"weft/deploy/terraform/internal/api"
)

type vm struct {
	ID              types.String `tfsdk:"id"`
	Name            types.String `tfsdk:"name"`
	Device          types.String `tfsdk:"device"`
	Endpoint        types.String `tfsdk:"endpoint"`
	CurrentEndpoint types.String `tfsdk:"current_endpoint"`
	Driver          types.String `tfsdk:"driver"`
	Image           types.String `tfsdk:"image"`
	Memory          types.Int64  `tfsdk:"memory"`
	VCPUs           types.Int64  `tfsdk:"vcpus"`
	CPU             types.String `tfsdk:"cpu"`
	MACs            types.List   `tfsdk:"macs"`
	Disk            types.Object `tfsdk:"disk"`
	Options         types.Map    `tfsdk:"options"`
	Check           types.String `tfsdk:"check"`
	Handover        types.String `tfsdk:"handover"`
	ClientID        types.String `tfsdk:"client_id"`
}

type vmAnswer struct {
	Name, Device, Endpoint, Driver, Image, CPU string
	Memory, VCPUs                              int64
	MACs                                       []string
	ClientID                                   string `json:"client_id"`
	Disk                                       *struct {
		Base  string
		Bytes int64
	}
	Options         map[string]string
	Check, Handover *string
}

var diskTypes = map[string]attr.Type{"base": types.StringType, "bytes": types.Int64Type}

var _ noun[vm] = (*vm)(nil)

func (v *vm) named() string { return v.Name.ValueString() }

func (v *vm) body(context.Context) fields {
	made := fields{}
	made.given("name", v.Name)
	made.given("device", v.Device)
	made.given("endpoint", v.Endpoint)
	made.given("driver", v.Driver)
	made.given("image", v.Image)
	made.given("memory", v.Memory)
	made.given("vcpus", v.VCPUs)
	made.given("cpu", v.CPU)
	made.given("macs", v.MACs)
	made.given("disk", v.Disk)
	made.given("options", v.Options)
	made.given("check", v.Check)
	made.given("handover", v.Handover)
	return made
}

func (v *vm) patch(ctx context.Context, before *vm) fields {
	changed := fields{}
	changed.altered("memory", before.Memory, v.Memory)
	changed.altered("vcpus", before.VCPUs, v.VCPUs)
	changed.altered("cpu", before.CPU, v.CPU)
	changed.merged(ctx, "options", before.Options, v.Options)
	changed.altered("check", before.Check, v.Check)
	changed.altered("handover", before.Handover, v.Handover)
	for _, field := range []string{"check", "handover"} {
		if value, there := changed[field]; there && value == nil {
			changed[field] = "" // null leaves it as it is
		}
	}
	return changed
}

func (v *vm) fill(_ context.Context, answer *api.Answer) error {
	found := vmAnswer{}
	if err := answer.Read(&found); err != nil {
		return err
	}
	v.ID, v.Name = types.StringValue(found.Name), types.StringValue(found.Name)
	v.Device, v.CurrentEndpoint = types.StringValue(found.Device), types.StringValue(found.Endpoint)
	if v.Endpoint.IsNull() { // imported; elsewhere a move is no difference
		v.Endpoint = v.CurrentEndpoint
	}
	v.Driver, v.Image = types.StringValue(found.Driver), types.StringValue(found.Image)
	v.Memory, v.VCPUs, v.CPU = types.Int64Value(found.Memory), types.Int64Value(found.VCPUs), types.StringValue(found.CPU)
	v.MACs = speltList(v.MACs, found.MACs)
	v.Disk = types.ObjectNull(diskTypes)
	if found.Disk != nil {
		v.Disk = types.ObjectValueMust(diskTypes, map[string]attr.Value{
			"base": types.StringValue(found.Disk.Base), "bytes": types.Int64Value(found.Disk.Bytes),
		})
	}
	v.Options, v.ClientID = mapping(found.Options), types.StringValue(found.ClientID)
	v.Check, v.Handover = types.StringPointerValue(found.Check), types.StringPointerValue(found.Handover)
	return nil
}

// speltList returns MACs in the spelling of the configuration.
func speltList(mine types.List, theirs []string) types.List {
	found := make([]string, len(theirs))
	for i := range theirs {
		one := types.StringNull()
		if written := mine.Elements(); i < len(written) {
			one, _ = written[i].(types.String)
		}
		found[i] = spelt(one, &theirs[i], asMAC).ValueString()
	}
	return list(found)
}
