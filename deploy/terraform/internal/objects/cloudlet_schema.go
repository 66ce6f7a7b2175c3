package objects

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/float64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/boolplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

const defaultTokenSeconds = 3600

// NewCloudlet returns the resource weft_cloudlet.
func NewCloudlet() resource.Resource {
	return &object[cloudlet, *cloudlet]{
		noun: "cloudlet", collection: "cloudlets", rehearses: true, schema: cloudletSchema(),
	}
}

func cloudletSchema() schema.Schema {
	attributes := identity("cloudlet")
	attributes["pe"] = schema.StringAttribute{
		Required: true, MarkdownDescription: "Kind of its PE: `vpls`, `evpn`, `vpnv4` or `vpnv6`. " + replaces,
		PlanModifiers: replacing(), Validators: []validator.String{flavours},
	}
	attributes["vtep"] = schema.StringAttribute{
		Required: true, MarkdownDescription: "IPv4 address of its tunnels and BGP sessions.",
		Validators: []validator.String{address4},
	}
	attributes["unmanaged"] = schema.BoolAttribute{
		Optional: true, Computed: true, Default: booldefault.StaticBool(false),
		MarkdownDescription: "Its PE has no agent; others configure it. " + replaces,
		PlanModifiers:       []planmodifier.Bool{boolplanmodifier.RequiresReplace()},
	}
	attributes["asn"] = schema.Int64Attribute{
		Optional: true, MarkdownDescription: "AS number of an unmanaged PE; left out: the region's.",
		Validators: []validator.Int64{int64validator.Between(1, 4294967294)},
	}
	attributes["ttl_security"] = schema.Int64Attribute{
		Optional: true, MarkdownDescription: "Greatest distance of an unmanaged PE in hops (RFC 5082).",
		Validators: []validator.Int64{int64validator.Between(1, 255)},
	}
	attributes["approval"] = schema.BoolAttribute{
		Optional: true, Computed: true, Default: booldefault.StaticBool(false),
		MarkdownDescription: "After its agent's enrolment it waits for an operator's approval.",
	}
	attributes["labels"] = schema.MapAttribute{
		ElementType: types.StringType, Optional: true, Computed: true, Default: mapdefault.StaticValue(mapping(nil)),
		MarkdownDescription: "Labels by which policies select cloudlets.",
		Validators: []validator.Map{
			mapvalidator.SizeAtMost(64), mapvalidator.KeysAre(nameForm),
			mapvalidator.ValueStringsAre(stringvalidator.LengthAtMost(200)),
		},
	}
	attributes["latitude"] = place("north", 90, "longitude")
	attributes["longitude"] = place("east", 180, "latitude")
	attributes["token_seconds"] = schema.Int64Attribute{
		Optional: true, Computed: true, Default: int64default.StaticInt64(defaultTokenSeconds),
		MarkdownDescription: "How long the enrolment token of a new cloudlet is good for.",
		Validators:          []validator.Int64{int64validator.Between(1, 30*86400)},
	}
	attributes["state"] = derived("`invited`, `pending`, `active` or `draining`.", false)
	token := derived("The one-time token with which its agent enrols. It is void once it is used or has expired, and "+
		"stays in the state as it was told. An unmanaged or imported cloudlet has none.", true)
	token.Sensitive = true
	attributes["enrolment_token"] = token
	attributes["enrolment_token_expires_at"] = derived("When the token expires, unless it is used before.", true)
	return schema.Schema{MarkdownDescription: "One edge site.", Attributes: attributes}
}

func place(direction string, most float64, other string) schema.Float64Attribute {
	return schema.Float64Attribute{
		Optional: true, MarkdownDescription: "WGS-84 degrees " + direction + ".",
		Validators: []validator.Float64{
			float64validator.Between(-most, most), float64validator.AlsoRequires(path.MatchRoot(other)),
		},
	}
}
