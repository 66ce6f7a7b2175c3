package objects

import (
	"context"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// NewVM returns the resource weft_vm.
func NewVM() resource.Resource {
	return &object[vm, *vm]{noun: "vm", collection: "vms", rehearses: true, schema: vmSchema()}
}

// elsewhere replaces a VM for which the configuration names another endpoint than the one where it was added, unless it
// is there already.
func elsewhere(
	ctx context.Context, req planmodifier.StringRequest, resp *stringplanmodifier.RequiresReplaceIfFuncResponse,
) {
	var present types.String
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("current_endpoint"), &present)...)
	resp.RequiresReplace = !req.PlanValue.Equal(present)
}

func vmSchema() schema.Schema {
	attributes := identity("VM")
	attributes["device"] = name("The registered device that it works for. "+replaces, true, replacing()...)
	attributes["endpoint"] = name(
		"The LAN at which it is added. Moves take it elsewhere, which is no difference; the name of a LAN where it is not "+
			"replaces it.", true,
		stringplanmodifier.RequiresReplaceIf(elsewhere, "it is not there", "It is not there."),
	)
	attributes["current_endpoint"] = derived("The LAN where it is now.", false)
	driver := name("The hypervisor. "+replaces, false, replacing()...)
	driver.Computed, driver.Default = true, stringdefault.StaticString("qemu")
	attributes["driver"] = driver
	attributes["image"] = name("Its boot image. "+replaces, true, replacing()...)
	attributes["memory"] = schema.Int64Attribute{
		Required: true, MarkdownDescription: "Its memory in bytes, such as `512 * 1024 * 1024`.",
		Validators: []validator.Int64{int64validator.Between(1<<24, 1<<45)},
	}
	attributes["vcpus"] = limited("Its processors.", 1, 1, 255)
	attributes["cpu"] = schema.StringAttribute{
		Optional: true, Computed: true, Default: stringdefault.StaticString("policy"),
		MarkdownDescription: "`policy`, `baseline`, `host`, `max`, or a model such as `EPYC-Rome`, without features: " +
			"`EPYC-Rome,-rdpid`.",
	}
	attributes["macs"] = schema.ListAttribute{
		ElementType: types.StringType, Optional: true, Computed: true,
		MarkdownDescription: "MACs of its two vNICs; left out: made from its name. " + replaces,
		PlanModifiers: []planmodifier.List{
			listplanmodifier.UseStateForUnknown(), listplanmodifier.RequiresReplaceIfConfigured(),
		},
		Validators: []validator.List{listvalidator.SizeBetween(2, 2), listvalidator.ValueStringsAre(mac)},
	}
	attributes["disk"] = schema.SingleNestedAttribute{
		Optional: true, MarkdownDescription: "Its disk, if it has one. " + replaces,
		PlanModifiers: []planmodifier.Object{objectplanmodifier.RequiresReplace()},
		Attributes: map[string]schema.Attribute{
			"base": name("Image that it begins with.", true),
			"bytes": schema.Int64Attribute{
				Required: true, MarkdownDescription: "Its size in bytes.",
				PlanModifiers: []planmodifier.Int64{int64planmodifier.RequiresReplace()},
				Validators:    []validator.Int64{int64validator.Between(1<<20, 1<<50)},
			},
		},
	}
	attributes["options"] = schema.MapAttribute{
		ElementType: types.StringType, Optional: true, Computed: true, Default: mapdefault.StaticValue(mapping(nil)),
		MarkdownDescription: "The driver's own options.",
		Validators:          []validator.Map{mapvalidator.SizeAtMost(32)},
	}
	attributes["check"] = schema.StringAttribute{
		Optional: true, MarkdownDescription: "Tells whether its service answers: `tcp:PORT`, or `http:PORT/PATH`.",
		Validators: []validator.String{stringvalidator.RegexMatches(
			regexp.MustCompile(`^(tcp:[1-9][0-9]{0,4}|http:[1-9][0-9]{0,4}(/[!-~]*)?)$`), "a check is tcp:PORT, or http:PORT/PATH",
		)},
	}
	attributes["handover"] = schema.StringAttribute{
		Optional: true, MarkdownDescription: "Path of a program in it that brings its state where it starts anew.",
		Validators: []validator.String{stringvalidator.RegexMatches(
			regexp.MustCompile(`^/[!-~]+$`), "a program's path is absolute, without spaces",
		)},
	}
	attributes["client_id"] = derived("How DHCP knows it: option 61 as hex.", true)
	return schema.Schema{
		MarkdownDescription: "A VM that works for a device. It is registered, changed while it does not run, and removed; " +
			"`weft vm` starts, moves and stops it.",
		Attributes: attributes,
	}
}
