package texts

import (
	"fmt"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// common returns the attributes that policies and inventories have, and their options.
func common(noun, version string, options map[string]string) map[string]schema.Attribute {
	attributes := map[string]schema.Attribute{
		"id": schema.StringAttribute{
			Computed: true, MarkdownDescription: fmt.Sprintf("`%s`.", noun),
			PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		},
		"text": schema.StringAttribute{
			Required: true, Validators: []validator.String{stringvalidator.LengthAtLeast(1)},
			MarkdownDescription: fmt.Sprintf("The text in YAML, which begins with `%s`, such as `file(\"%s.yaml\")`. The plan "+
				"shows its errors with line and column.", version, noun),
		},
		"filename": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(noun + ".yaml"),
			MarkdownDescription: "Name of the text in errors, events and the history.",
			Validators: []validator.String{stringvalidator.RegexMatches(
				regexp.MustCompile(`^[^\x00-\x1f\x7f]{1,200}$`), "a file's name has 1 to 200 characters, none of control",
			)},
		},
		"planned": schema.StringAttribute{
			Computed:            true,
			MarkdownDescription: "The mark of the controller's plan: the text is applied only while it would still do exactly that.",
		},
		"steps": schema.ListAttribute{
			ElementType: types.StringType, Computed: true,
			MarkdownDescription: "The steps that the text takes, or has taken when it was applied.",
		},
		"etag":     schema.StringAttribute{Computed: true, MarkdownDescription: "The entity tag of the text in force."},
		"revision": schema.Int64Attribute{Computed: true, MarkdownDescription: "The revision of the text in force."},
	}
	for name, meaning := range options {
		attributes[name] = schema.BoolAttribute{
			Optional: true, Computed: true, Default: booldefault.StaticBool(false), MarkdownDescription: meaning,
		}
	}
	return attributes
}
