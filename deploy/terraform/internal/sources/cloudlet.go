package sources

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"weft/deploy/terraform/internal/api"
)

// cloudlet is a cloudlet as the controller shows it, and as Terraform does.
type cloudlet struct {
	Name      string            `tfsdk:"name"`
	PE        string            `tfsdk:"pe"`
	VTEP      string            `tfsdk:"vtep"`
	State     string            `tfsdk:"state"`
	Unmanaged bool              `tfsdk:"unmanaged"`
	Labels    map[string]string `tfsdk:"labels"`
	Latitude  *float64          `tfsdk:"latitude"`
	Longitude *float64          `tfsdk:"longitude"`
	Endpoints []string          `tfsdk:"endpoints"`
	Connected bool              `tfsdk:"connected" json:"-"`
	Version   *string           `tfsdk:"agent_version" json:"-"`
}

// NewCloudlet returns the data source weft_cloudlet.
func NewCloudlet() datasource.DataSource {
	return &source{noun: "cloudlet", path: "cloudlets", named: true, read: readCloudlet, schema: schema.Schema{
		MarkdownDescription: "A cloudlet.",
		Attributes: map[string]schema.Attribute{
			"name":      wanted("cloudlet"),
			"pe":        text("Kind of its PE."),
			"vtep":      text("Address of its tunnels and BGP sessions."),
			"state":     text("`invited`, `pending`, `active` or `draining`."),
			"unmanaged": truth("Its PE has no agent."),
			"labels": schema.MapAttribute{
				ElementType: types.StringType, Computed: true, MarkdownDescription: "Labels by which policies select cloudlets.",
			},
			"latitude":      schema.Float64Attribute{Computed: true, MarkdownDescription: "WGS-84 degrees north."},
			"longitude":     schema.Float64Attribute{Computed: true, MarkdownDescription: "WGS-84 degrees east."},
			"endpoints":     names("Its endpoints."),
			"connected":     truth("Its agent is connected."),
			"agent_version": text("The version of its agent."),
		},
	}}
}

func readCloudlet(answer *api.Answer) (any, error) {
	found, agent := cloudlet{}, struct {
		Agent struct {
			Connected bool
			Version   *string
		}
	}{}
	if err := answer.Read(&found); err != nil {
		return nil, err
	}
	if err := answer.Read(&agent); err != nil {
		return nil, err
	}
	found.Connected, found.Version = agent.Agent.Connected, agent.Agent.Version
	return found, nil
}
