package objects

import (
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

var portForm = stringvalidator.RegexMatches(
	regexp.MustCompile(`^(?:[A-Za-z0-9_.:@*?\[\]-]{1,15}|[A-Za-z0-9_.:@-]{1,15}\.[1-9][0-9]{0,3})$`),
	"an interface's name or shell pattern has 1 to 15 characters, and a VLAN of an interface is written eth1.100",
)

// NewEndpoint returns the resource weft_endpoint.
func NewEndpoint() resource.Resource {
	return &object[endpoint, *endpoint]{
		noun: "endpoint", collection: "endpoints", rehearses: true, schema: endpointSchema(),
		aliases: map[string]string{"gateway": "prefix"},
	}
}

func endpointSchema() schema.Schema {
	attributes := identity("endpoint")
	attributes["cloudlet"] = name("The cloudlet whose LAN it is. "+replaces, true, replacing()...)
	attributes["prefix"] = schema.StringAttribute{
		Required: true, Validators: []validator.String{prefix4},
		MarkdownDescription: "Its IPv4 prefix, /8 to /29. It changes only while no lease, reservation, static host or VM " +
			"depends on it.",
	}
	attributes["prefix6"] = schema.StringAttribute{
		Optional: true, Validators: []validator.String{prefix6},
		MarkdownDescription: "Its IPv6 prefix, /64 to /125, if it has IPv6. It needs an `mtu` of at least 1280.",
	}
	attributes["ports"] = schema.ListAttribute{
		ElementType: types.StringType, Optional: true, Computed: true, Default: listdefault.StaticValue(list(nil)),
		MarkdownDescription: "Access ports: interfaces of the cloudlet, shell patterns, or VLANs such as `eth1.100`.",
		Validators:          []validator.List{listvalidator.SizeAtMost(64), listvalidator.ValueStringsAre(portForm)},
	}
	attributes["vni"] = schema.Int64Attribute{
		Optional: true, Computed: true, MarkdownDescription: "VNI of an EVPN endpoint; left out: 10000, or as it is.",
		PlanModifiers: []planmodifier.Int64{int64planmodifier.UseStateForUnknown()},
		Validators:    []validator.Int64{int64validator.Between(1, 16777215)},
	}
	attributes["mtu"] = limited("In bytes.", 1450, 576, 9216)
	attributes["lease_seconds"] = limited("Lease time, if the policy says none.", 3600, 60, 30*86400)
	attributes["max_routes"] = schema.Int64Attribute{
		Optional:            true,
		MarkdownDescription: "With more routes than this, all of them are in quarantine; left out: no limit.",
		Validators:          []validator.Int64{int64validator.Between(1, 2147483647)},
	}
	attributes["tenant"] = name("Its owner, if it has one.", false)
	attributes["gateway"] = derived("The first address of its prefix.", false)
	attributes["gateway6"] = derived("The first address of its IPv6 prefix.", false)
	attributes["flavour"] = derived("That of the cloudlet's PE.", true)
	attributes["site"] = number("Its site number, the VE ID of a VPLS endpoint.", true)
	attributes["index"] = number("Its number at its cloudlet.", true)
	attributes["rt"] = derived("Its route target.", true)
	attributes["rd"] = derived("Its route distinguisher.", true)
	attributes["capacity"] = number("How many pairs of addresses its plan has.", false)
	return schema.Schema{MarkdownDescription: "A LAN of a cloudlet, and its attachment to the fabric.", Attributes: attributes}
}

func limited(description string, usual, least, most int64) schema.Int64Attribute {
	return schema.Int64Attribute{
		Optional: true, Computed: true, Default: int64default.StaticInt64(usual), MarkdownDescription: description,
		Validators: []validator.Int64{int64validator.Between(least, most)},
	}
}
