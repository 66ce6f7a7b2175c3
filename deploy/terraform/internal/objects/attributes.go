package objects

import (
	"fmt"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

var namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

var nameForm = stringvalidator.RegexMatches(
	namePattern, "a name has 1 to 63 lower-case letters, digits and hyphens, and neither begins nor ends with a hyphen",
)

var flavours = stringvalidator.OneOf("vpls", "evpn", "vpnv4", "vpnv6")

// identity returns the attributes that all objects have.
func identity(noun string) map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"id": schema.StringAttribute{
			Computed: true,
			MarkdownDescription: fmt.Sprintf("The name. It is known once the %s is there: a policy's text that contains it is "+
				"planned then.", noun),
			PlanModifiers: stays(),
		},
		"name": schema.StringAttribute{
			Required: true, MarkdownDescription: "The name, a DNS label in lower case. " + replaces,
			PlanModifiers: replacing(), Validators: []validator.String{nameForm},
		},
	}
}

const replaces = "Another value replaces it."

func replacing() []planmodifier.String {
	return []planmodifier.String{stringplanmodifier.RequiresReplace()}
}

func stays() []planmodifier.String {
	return []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
}

// name returns the attribute of another object's name.
func name(description string, required bool, modifiers ...planmodifier.String) schema.StringAttribute {
	return schema.StringAttribute{
		Required: required, Optional: !required, MarkdownDescription: description,
		PlanModifiers: modifiers, Validators: []validator.String{nameForm},
	}
}

// derived and number return attributes that the controller alone sets. They stay, if the controller never changes them.
func derived(description string, stable bool) schema.StringAttribute {
	made := schema.StringAttribute{Computed: true, MarkdownDescription: description}
	if stable {
		made.PlanModifiers = stays()
	}
	return made
}

func number(description string, stable bool) schema.Int64Attribute {
	made := schema.Int64Attribute{Computed: true, MarkdownDescription: description}
	if stable {
		made.PlanModifiers = []planmodifier.Int64{int64planmodifier.UseStateForUnknown()}
	}
	return made
}
