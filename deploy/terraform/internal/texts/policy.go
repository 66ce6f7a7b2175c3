package texts

import (
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"weft/deploy/terraform/internal/api"
)

// NewPolicy returns the resource weft_policy.
func NewPolicy() resource.Resource {
	options := map[string]string{
		"strict":           "Refuse what is only warned of.",
		"allow_disconnect": "Devices may be cut off from running VMs.",
		"hold_back":        "Endpoints to which their tenants have not consented leave their pools until they do.",
		"count_consented":  "These endpoints count as consented to: their tenants have said so before.",
	}
	attributes := common("policy", "apiVersion: weft/v1", options)
	return &text{
		noun: "policy", nothing: "# removed by terraform-provider-weft\napiVersion: weft/v1\nvcps: {}\n",
		planning: []string{"strict", "count_consented"},
		applying: []string{"strict", "allow_disconnect", "hold_back", "count_consented"},
		steps:    policySteps,
		schema: schema.Schema{
			MarkdownDescription: "The policy of the region, of which there is one. Destroying it puts one without pools in force.",
			Attributes:          attributes,
		},
	}
}

type membership struct{ VCP, Endpoint string }

// policySteps returns a line for each step of a policy, as `weft policy plan` prints it.
func policySteps(answer *api.Answer) ([]string, error) {
	found := struct {
		Plan struct {
			Create, Adopt, Describe, Delete []string
			Join, Leave                     []membership
			Splits                          []struct {
				VCP   string
				Parts []string
			}
			Settings []struct {
				Path          string
				Before, After *string
			}
		}
	}{}
	if err := answer.Read(&found); err != nil {
		return nil, err
	}
	plan, lines := found.Plan, []string{}
	add := func(parts ...string) { lines = append(lines, joined(parts)) }
	for _, name := range plan.Create {
		add("+ VCP ", name)
	}
	for _, name := range plan.Adopt {
		add("~ VCP ", name, " comes under the policy")
	}
	for _, name := range plan.Describe {
		add("~ VCP ", name, " is described anew")
	}
	for _, name := range plan.Delete {
		add("- VCP ", name)
	}
	for _, one := range plan.Join {
		add("+ ", one.Endpoint, " joins ", one.VCP)
	}
	for _, one := range plan.Leave {
		add("- ", one.Endpoint, " leaves ", one.VCP)
	}
	for _, one := range plan.Splits {
		add("~ VCP ", one.VCP, " falls into ", listed(one.Parts))
	}
	for _, one := range plan.Settings {
		switch {
		case one.Before == nil && one.After != nil:
			add("+ ", one.Path, ": ", *one.After)
		case one.Before != nil && one.After == nil:
			add("- ", one.Path, ": ", *one.Before)
		case one.Before != nil:
			add("~ ", one.Path, ": ", *one.Before, " → ", *one.After)
		}
	}
	return lines, nil
}
