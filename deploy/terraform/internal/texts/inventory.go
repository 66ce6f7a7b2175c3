package texts

import (
	"encoding/json"
	"sort"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"weft/deploy/terraform/internal/api"
)

const defaultTokenSeconds = 3600

// NewInventory returns the resource weft_inventory.
func NewInventory() resource.Resource {
	options := map[string]string{"allow_disconnect": "Devices may be cut off from running VMs."}
	attributes := common("inventory", "apiVersion: weft/inventory/v1", options)
	attributes[tokenSeconds] = schema.Int64Attribute{
		Optional: true, Computed: true, Default: int64default.StaticInt64(defaultTokenSeconds),
		MarkdownDescription: "How long the enrolment tokens of new cloudlets are good for.",
		Validators:          []validator.Int64{int64validator.Between(1, 30*86400)},
	}
	attributes[enrolmentTokens] = schema.MapAttribute{
		ElementType: types.StringType, Computed: true, Sensitive: true,
		MarkdownDescription: "The one-time tokens of the cloudlets that it has made, by name, as they were told.",
	}
	return &text{
		noun: "inventory", nothing: "# removed by terraform-provider-weft\napiVersion: weft/inventory/v1\n",
		applying: []string{"allow_disconnect", tokenSeconds}, steps: inventorySteps, secrets: true,
		schema: schema.Schema{
			MarkdownDescription: "The inventory of the region as one text. Destroying it removes all objects that it names. " +
				"These must not be resources of their own as well.",
			Attributes: attributes,
		},
	}
}

var (
	nouns = map[string]string{"cloudlets": "cloudlet", "endpoints": "endpoint", "devices": "device", "vms": "VM"}
	signs = map[string]string{"create": "+ ", "change": "~ ", "remove": "- "}
)

// inventorySteps returns a line for each step of an inventory, as `weft inventory plan` prints it.
func inventorySteps(answer *api.Answer) ([]string, error) {
	found := struct {
		Plan struct {
			Steps []struct {
				Action, Section, Name string
				Fields                []struct {
					Field         string
					Before, After any
				}
			}
		}
	}{}
	if err := answer.Read(&found); err != nil {
		return nil, err
	}
	lines := []string{}
	for _, step := range found.Plan.Steps {
		line, differences := signs[step.Action]+nouns[step.Section]+" "+step.Name, []string{}
		for _, one := range step.Fields {
			said := one.Field + " " + shown(one.After)
			if step.Action != "create" {
				said = one.Field + " " + shown(one.Before) + " → " + shown(one.After)
			}
			differences = append(differences, said)
		}
		if len(differences) > 0 {
			line += ": " + listed(differences)
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// shown returns a value as operators read it.
func shown(value any) string {
	switch found := value.(type) {
	case nil:
		return "none"
	case string:
		return found
	case []any:
		return several(found, shown)
	case map[string]any:
		pairs := make([]any, 0, len(found))
		for key, one := range found {
			pairs = append(pairs, key+"="+shown(one))
		}
		sort.Slice(pairs, func(i, j int) bool { return pairs[i].(string) < pairs[j].(string) })
		return several(pairs, shown)
	}
	written, err := json.Marshal(value)
	if err != nil {
		return "?"
	}
	return string(written)
}

func several(values []any, each func(any) string) string {
	said := make([]string, len(values))
	for i, one := range values {
		said[i] = each(one)
	}
	if len(said) == 0 {
		return "none"
	}
	return strings.Join(said, " ")
}

func joined(parts []string) string { return strings.Join(parts, "") }

func listed(parts []string) string { return strings.Join(parts, ", ") }
