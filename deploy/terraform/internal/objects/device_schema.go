package objects

import (
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/resourcevalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

var clientIDForm = stringvalidator.RegexMatches(
	regexp.MustCompile(`^([0-9a-f]{2}){1,255}$`), "a client id is DHCP option 61 as lower-case hex, two digits an octet",
)

// NewDevice returns the resource weft_device.
func NewDevice() resource.Resource {
	return &object[device, *device]{
		noun: "device", collection: "devices", rehearses: true, schema: deviceSchema(),
		validators: []resource.ConfigValidator{
			resourcevalidator.AtLeastOneOf(path.MatchRoot("mac"), path.MatchRoot("client_id")),
		},
	}
}

func deviceSchema() schema.Schema {
	attributes := identity("device")
	attributes["mac"] = schema.StringAttribute{
		Optional: true, MarkdownDescription: "Its MAC, in any form that vendors write.", Validators: []validator.String{mac},
	}
	attributes["client_id"] = schema.StringAttribute{
		Optional: true, Validators: []validator.String{clientIDForm},
		MarkdownDescription: "Its DHCP option 61 as lower-case hex; with a MAC, it takes precedence.",
	}
	either := stringvalidator.AtLeastOneOf(
		path.MatchRelative().AtParent().AtName("mac"), path.MatchRelative().AtParent().AtName("client_id"),
	)
	attributes["vm"] = schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "How DHCP knows the machine that works for it. A VM of `weft_vm` is known without this. It " +
			"does not change while a VM is registered for the device.",
		Attributes: map[string]schema.Attribute{
			"mac": schema.StringAttribute{
				Optional: true, MarkdownDescription: "Its MAC.", Validators: []validator.String{mac, either},
			},
			"client_id": schema.StringAttribute{
				Optional: true, MarkdownDescription: "Its client id.", Validators: []validator.String{clientIDForm},
			},
		},
	}
	return schema.Schema{MarkdownDescription: "A registered device, and how DHCP knows it.", Attributes: attributes}
}
