package sources

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"

	"weft/deploy/terraform/internal/api"
)

// routeServers are those of the region, without their state, which changes from minute to minute.
type routeServers struct {
	Items []struct {
		Name    string `tfsdk:"name"`
		Address string `tfsdk:"address"`
	} `tfsdk:"route_servers"`
}

// NewRouteServers returns the data source weft_route_servers.
func NewRouteServers() datasource.DataSource {
	return &source{noun: "route_servers", path: "route-servers", read: readRouteServers, schema: schema.Schema{
		MarkdownDescription: "The route servers of the region, with which the PEs have their BGP sessions.",
		Attributes: map[string]schema.Attribute{
			"route_servers": schema.ListNestedAttribute{
				Computed: true, MarkdownDescription: "In the order of the controller's settings.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"name":    text("Its name."),
					"address": text("The address of its BGP sessions."),
				}},
			},
		},
	}}
}

func readRouteServers(answer *api.Answer) (any, error) {
	found := routeServers{}
	return &found, answer.Read(&found)
}
