package objects

import (
	"context"
	"encoding/hex"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"weft/deploy/terraform/internal/api"
)

type device struct {
	ID       types.String `tfsdk:"id"`
	Name     types.String `tfsdk:"name"`
	MAC      types.String `tfsdk:"mac"`
	ClientID types.String `tfsdk:"client_id"`
	VM       types.Object `tfsdk:"vm"`
}

// dhcpClient is how DHCP knows a machine.
type dhcpClient struct {
	MAC      *string
	ClientID *string `json:"client_id"`
}

type deviceAnswer struct {
	dhcpClient
	Name string
	VM   *dhcpClient
}

var dhcpClientTypes = map[string]attr.Type{"mac": types.StringType, "client_id": types.StringType}

var _ noun[device] = (*device)(nil)

func (d *device) named() string { return d.Name.ValueString() }

func (d *device) body(context.Context) fields {
	made := fields{}
	made.given("name", d.Name)
	made.given("mac", d.MAC)
	made.given("client_id", d.ClientID)
	made.given("vm", d.VM)
	return made
}

func (d *device) patch(_ context.Context, before *device) fields {
	changed := fields{}
	changed.altered("mac", before.MAC, d.MAC)
	changed.altered("client_id", before.ClientID, d.ClientID)
	changed.altered("vm", before.VM, d.VM)
	return changed
}

func (d *device) fill(_ context.Context, answer *api.Answer) error {
	found := deviceAnswer{}
	if err := answer.Read(&found); err != nil {
		return err
	}
	d.ID, d.Name = types.StringValue(found.Name), types.StringValue(found.Name)
	d.MAC, d.ClientID = spelt(d.MAC, found.MAC, asMAC), types.StringPointerValue(found.ClientID)
	d.VM = known(d.VM, found.VM)
	return nil
}

// known returns how DHCP knows the machine that works for the device, without what it knows of a VM by itself: that is
// weft_vm's.
func known(mine types.Object, theirs *dhcpClient) types.Object {
	if theirs == nil {
		return types.ObjectNull(dhcpClientTypes)
	}
	mac, _ := mine.Attributes()["mac"].(types.String)
	id, _ := mine.Attributes()["client_id"].(types.String)
	mac, given := spelt(mac, theirs.MAC, asMAC), id.ValueString()
	id = types.StringPointerValue(theirs.ClientID)
	if given == "" && ofVM(id.ValueString()) {
		id = types.StringNull()
	}
	if mac.IsNull() && id.IsNull() {
		return types.ObjectNull(dhcpClientTypes)
	}
	return types.ObjectValueMust(dhcpClientTypes, map[string]attr.Value{"mac": mac, "client_id": id})
}

// ofVM returns whether a client id is that of a VM: type 0, then the VM's name.
func ofVM(id string) bool {
	octets, err := hex.DecodeString(id)
	return err == nil && len(octets) > 1 && octets[0] == 0 && namePattern.Match(octets[1:])
}
