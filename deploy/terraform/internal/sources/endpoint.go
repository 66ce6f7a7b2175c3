package sources

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"

	"weft/deploy/terraform/internal/api"
)

// endpoint is an endpoint as the controller shows it, and as Terraform does.
type endpoint struct {
	Name     string   `tfsdk:"name"`
	Cloudlet string   `tfsdk:"cloudlet"`
	Flavour  string   `tfsdk:"flavour"`
	Prefix   string   `tfsdk:"prefix"`
	Gateway  string   `tfsdk:"gateway"`
	Prefix6  *string  `tfsdk:"prefix6"`
	Gateway6 *string  `tfsdk:"gateway6"`
	Ports    []string `tfsdk:"ports"`
	Site     int64    `tfsdk:"site"`
	RT       string   `tfsdk:"rt"`
	RD       string   `tfsdk:"rd"`
	VNI      *int64   `tfsdk:"vni"`
	VTEP     string   `tfsdk:"vtep"`
	MTU      int64    `tfsdk:"mtu"`
	Tenant   *string  `tfsdk:"tenant"`
	Capacity int64    `tfsdk:"capacity"`
	VCPs     []string `tfsdk:"vcps"`
}

// NewEndpoint returns the data source weft_endpoint.
func NewEndpoint() datasource.DataSource {
	return &source{noun: "endpoint", path: "endpoints", named: true, read: readEndpoint, schema: schema.Schema{
		MarkdownDescription: "An endpoint, with the pools that it is in.",
		Attributes: map[string]schema.Attribute{
			"name":     wanted("endpoint"),
			"cloudlet": text("The cloudlet whose LAN it is."),
			"flavour":  text("That of the cloudlet's PE."),
			"prefix":   text("Its IPv4 prefix."),
			"gateway":  text("The first address of its prefix."),
			"prefix6":  text("Its IPv6 prefix, if it has one."),
			"gateway6": text("The first address of its IPv6 prefix."),
			"ports":    names("Access ports."),
			"site":     number("Its site number."),
			"rt":       text("Its route target."),
			"rd":       text("Its route distinguisher."),
			"vni":      number("VNI of an EVPN endpoint."),
			"vtep":     text("The cloudlet's VTEP."),
			"mtu":      number("In bytes."),
			"tenant":   text("Its owner, if it has one."),
			"capacity": number("How many pairs of addresses its plan has."),
			"vcps":     names("The pools that it is in."),
		},
	}}
}

func readEndpoint(answer *api.Answer) (any, error) {
	found := endpoint{}
	return &found, answer.Read(&found)
}
