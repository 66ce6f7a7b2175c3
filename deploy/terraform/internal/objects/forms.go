package objects

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// form is a validator of text: `right` returns whether a text has the form.
type form struct {
	noun, example string
	right         func(string) bool
}

var (
	address4 = form{"an IPv4 address", "192.0.2.1", func(text string) bool {
		found, err := netip.ParseAddr(text)
		return err == nil && found.Is4()
	}}
	prefix4 = form{"an IPv4 prefix without host bits", "10.1.0.0/24", func(text string) bool {
		found, err := netip.ParsePrefix(text)
		return err == nil && found.Addr().Is4() && found == found.Masked()
	}}
	prefix6 = form{"an IPv6 prefix without host bits", "2001:db8:1::/64", func(text string) bool {
		found, err := netip.ParsePrefix(text)
		return err == nil && found.Addr().Is6() && found == found.Masked()
	}}
	mac = form{"a MAC address", "02:00:5e:00:00:01", func(text string) bool {
		_, ok := digitsOf(text)
		return ok
	}}
)

func (f form) Description(context.Context) string {
	return "it is " + f.noun + ", such as " + f.example
}

func (f form) MarkdownDescription(ctx context.Context) string { return f.Description(ctx) }

func (f form) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() || f.right(req.ConfigValue.ValueString()) {
		return
	}
	resp.Diagnostics.AddAttributeError(req.Path, "Not "+f.noun,
		fmt.Sprintf("%q is not %s: write it as in %s.", req.ConfigValue.ValueString(), f.noun, f.example))
}
