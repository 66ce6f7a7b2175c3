package objects

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// NewVCP returns the resource weft_vcp.
func NewVCP() resource.Resource {
	return &object[vcp, *vcp]{
		noun: "vcp", collection: "vcps", schema: vcpSchema(), volatile: "managed_by_policy",
		aliases: map[string]string{"endpoint": "members"},
	}
}

func vcpSchema() schema.Schema {
	attributes := identity("pool")
	attributes["flavour"] = schema.StringAttribute{
		Optional: true, Computed: true, Default: stringdefault.StaticString("vpls"),
		MarkdownDescription: "Kind of PE of all members. " + replaces,
		PlanModifiers:       replacing(), Validators: []validator.String{flavours},
	}
	attributes["description"] = schema.StringAttribute{
		Optional: true, Computed: true, Default: stringdefault.StaticString(""),
		MarkdownDescription: "For operators. " + replaces,
		PlanModifiers:       replacing(), Validators: []validator.String{stringvalidator.LengthAtMost(200)},
	}
	attributes["members"] = schema.SetAttribute{
		ElementType: types.StringType, Optional: true,
		MarkdownDescription: "The endpoints in the pool: all of them. Left out: others let endpoints join and leave.",
		Validators:          []validator.Set{setvalidator.ValueStringsAre(nameForm)},
	}
	attributes["managed_by_policy"] = schema.BoolAttribute{
		Computed: true, MarkdownDescription: "The policy has created it or taken it over, and may delete it.",
	}
	return schema.Schema{
		MarkdownDescription: "A Virtual Cloud Pool. Pools that a policy names are the policy's: use `weft_policy` for those.",
		Attributes:          attributes,
	}
}
