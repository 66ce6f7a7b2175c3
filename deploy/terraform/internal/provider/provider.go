// Package provider is the provider: its settings, and the list of its resources and data sources.
package provider

import (
	"context"
	"errors"
	"os"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"weft/deploy/terraform/internal/api"
	"weft/deploy/terraform/internal/objects"
	"weft/deploy/terraform/internal/sources"
	"weft/deploy/terraform/internal/texts"
)

type weft struct{ version string }

// settings are the attributes of the provider's block.
type settings struct {
	URL       types.String `tfsdk:"url"`
	Token     types.String `tfsdk:"token"`
	TokenFile types.String `tfsdk:"token_file"`
	RootFile  types.String `tfsdk:"root_file"`
}

// New returns the provider. `version` is that of its release.
func New(version string) func() provider.Provider {
	return func() provider.Provider { return &weft{version} }
}

func (w *weft) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName, resp.Version = "weft", w.version
}

func (w *weft) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Cloudlets, endpoints, devices, VMs, pools and policy of one region of Weft.",
		Attributes: map[string]schema.Attribute{
			"url": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "The controller: `unix:///PATH` or `http(s)://HOST:PORT`; left out: `WEFT_URL`. It has no " +
					"default, so that no region is changed by mistake.",
			},
			"token": schema.StringAttribute{
				Optional: true, Sensitive: true,
				MarkdownDescription: "Your token; left out: the file `WEFT_TOKEN_FILE`, or `WEFT_TOKEN`. A socket needs none.",
				Validators:          []validator.String{stringvalidator.ConflictsWith(path.MatchRoot("token_file"))},
			},
			"token_file": schema.StringAttribute{Optional: true, MarkdownDescription: "A file with your token."},
			"root_file": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "A file with the region's root (`weft certificate authority`), for an `https://` URL of the " +
					"controller's own; left out: `WEFT_ROOT_FILE`, or else the authorities that this machine trusts.",
			},
		},
	}
}

// Configure opens the client, which sends nothing yet: `validate` needs no controller.
func (w *weft) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var given settings
	if resp.Diagnostics.Append(req.Config.Get(ctx, &given)...); resp.Diagnostics.HasError() {
		return
	}
	for name, value := range map[string]types.String{
		"url": given.URL, "token": given.Token, "token_file": given.TokenFile, "root_file": given.RootFile,
	} {
		if value.IsUnknown() {
			resp.Diagnostics.AddAttributeError(path.Root(name), "The provider's "+name+" is not known yet",
				"It depends on something that is applied first. Apply that alone (-target), or set "+api.Variables[name]+".")
		}
	}
	if resp.Diagnostics.HasError() {
		return
	}
	client, err := api.Open(api.Settings{
		URL: given.URL.ValueString(), Token: given.Token.ValueString(), TokenFile: given.TokenFile.ValueString(),
		RootFile: given.RootFile.ValueString(),
	}.Completed(os.Getenv))
	if wrong, ok := errors.AsType[*api.WrongSetting](err); ok {
		resp.Diagnostics.AddAttributeError(path.Root(wrong.Name), "The provider's "+wrong.Name+" cannot be used",
			wrong.Message+".\nIt is the attribute "+wrong.Name+", or "+api.Variables[wrong.Name]+" of the environment.")
		return
	}
	if err != nil {
		resp.Diagnostics.AddError("The provider cannot begin", err.Error())
		return
	}
	resp.ResourceData, resp.DataSourceData = client, client
}

func (w *weft) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		objects.NewCloudlet, objects.NewEndpoint, objects.NewDevice, objects.NewVM, objects.NewVCP,
		texts.NewPolicy, texts.NewInventory,
	}
}

func (w *weft) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{sources.NewCloudlet, sources.NewEndpoint, sources.NewRouteServers}
}
