package objects

import (
	"context"
	"net/http"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"weft/deploy/terraform/internal/api"
)

type cloudlet struct {
	ID             types.String  `tfsdk:"id"`
	Name           types.String  `tfsdk:"name"`
	PE             types.String  `tfsdk:"pe"`
	VTEP           types.String  `tfsdk:"vtep"`
	Unmanaged      types.Bool    `tfsdk:"unmanaged"`
	ASN            types.Int64   `tfsdk:"asn"`
	TTLSecurity    types.Int64   `tfsdk:"ttl_security"`
	Approval       types.Bool    `tfsdk:"approval"`
	Labels         types.Map     `tfsdk:"labels"`
	Latitude       types.Float64 `tfsdk:"latitude"`
	Longitude      types.Float64 `tfsdk:"longitude"`
	TokenSeconds   types.Int64   `tfsdk:"token_seconds"`
	State          types.String  `tfsdk:"state"`
	Token          types.String  `tfsdk:"enrolment_token"`
	TokenExpiresAt types.String  `tfsdk:"enrolment_token_expires_at"`
}

// cloudletAnswer is a cloudlet as the controller shows it. The token is in the answers to requests that make one.
type cloudletAnswer struct {
	Name, PE, VTEP, State string
	Unmanaged, Approval   bool
	ASN                   *int64
	TTLSecurity           *int64 `json:"ttl_security"`
	Labels                map[string]string
	Latitude, Longitude   *float64
	Token                 *string
	TokenExpiresAt        *string `json:"token_expires_at"`
}

var _ noun[cloudlet] = (*cloudlet)(nil)
var _ completed[cloudlet] = (*cloudlet)(nil)

func (c *cloudlet) named() string { return c.Name.ValueString() }

func (c *cloudlet) body(context.Context) fields {
	made := fields{}
	made.given("name", c.Name)
	made.given("pe", c.PE)
	made.given("vtep", c.VTEP)
	made.given("unmanaged", c.Unmanaged)
	made.given("asn", c.ASN)
	made.given("ttl_security", c.TTLSecurity)
	made.given("approval", c.Approval)
	made.given("labels", c.Labels)
	made.given("latitude", c.Latitude)
	made.given("longitude", c.Longitude)
	made.given("token_seconds", c.TokenSeconds)
	return made
}

func (c *cloudlet) patch(ctx context.Context, before *cloudlet) fields {
	changed := fields{}
	changed.altered("vtep", before.VTEP, c.VTEP)
	changed.altered("asn", before.ASN, c.ASN)
	changed.altered("ttl_security", before.TTLSecurity, c.TTLSecurity)
	changed.altered("approval", before.Approval, c.Approval)
	changed.merged(ctx, "labels", before.Labels, c.Labels)
	changed.altered("latitude", before.Latitude, c.Latitude)
	changed.altered("longitude", before.Longitude, c.Longitude)
	return changed
}

func (c *cloudlet) fill(_ context.Context, answer *api.Answer) error {
	found := cloudletAnswer{}
	if err := answer.Read(&found); err != nil {
		return err
	}
	c.ID, c.Name = types.StringValue(found.Name), types.StringValue(found.Name)
	c.PE, c.State = types.StringValue(found.PE), types.StringValue(found.State)
	c.VTEP = spelt(c.VTEP, &found.VTEP, asAddress)
	c.Unmanaged, c.Approval = types.BoolValue(found.Unmanaged), types.BoolValue(found.Approval)
	c.ASN, c.TTLSecurity = types.Int64PointerValue(found.ASN), types.Int64PointerValue(found.TTLSecurity)
	c.Labels = mapping(found.Labels)
	c.Latitude, c.Longitude = types.Float64PointerValue(found.Latitude), types.Float64PointerValue(found.Longitude)
	if c.TokenSeconds.IsNull() { // imported
		c.TokenSeconds = types.Int64Value(defaultTokenSeconds)
	}
	c.invited(found)
	return nil
}

// invited takes a new token. One that was told before stays, whether it is used or not: another value would make hosts
// anew that got this one in their user data.
func (c *cloudlet) invited(found cloudletAnswer) {
	if found.Token != nil || c.Token.IsUnknown() {
		c.Token = types.StringPointerValue(found.Token)
		c.TokenExpiresAt = types.StringPointerValue(found.TokenExpiresAt)
	}
}

// complete asks for another token if that of a new cloudlet was lost with the controller's first answer.
func (c *cloudlet) complete(ctx context.Context, work *work, before, wanted *cloudlet) {
	if before != nil || !c.Token.IsNull() || c.Unmanaged.ValueBool() {
		return
	}
	seconds := fields{"token_seconds": wanted.TokenSeconds.ValueInt64()}
	answer := work.send(ctx, "make a token for", http.MethodPost, api.Path("cloudlets", c.named(), "token"), seconds)
	if answer == nil {
		return
	}
	found := cloudletAnswer{}
	if !work.failed("read", answer.Read(&found)) {
		c.invited(found)
	}
}
