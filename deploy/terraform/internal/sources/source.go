// Package sources has the data sources: objects that the configuration does not manage.
package sources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"weft/deploy/terraform/internal/api"
	"weft/deploy/terraform/internal/said"
)

// source is a data source. Its schema says which object of the controller it is: by `name`, or the list of all.
type source struct {
	noun   string
	path   string
	named  bool
	schema schema.Schema
	read   func(answer *api.Answer) (any, error)
	client *api.Client
}

func (s *source) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + s.noun
}

func (s *source) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = s.schema
}

func (s *source) Configure(_ context.Context, req datasource.ConfigureRequest, _ *datasource.ConfigureResponse) {
	s.client, _ = req.ProviderData.(*api.Client)
}

func (s *source) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var name types.String
	where, doing := api.Path(s.path), "read the "+s.path
	if s.named {
		if resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("name"), &name)...); resp.Diagnostics.HasError() {
			return
		}
		where, doing = api.Path(s.path, name.ValueString()), "read "+s.noun+" "+name.ValueString()
	}
	answer, err := s.client.Get(ctx, where)
	if err != nil && s.named && api.IsMissing(err) {
		resp.Diagnostics.AddAttributeError(path.Root("name"), "Cannot "+doing, api.Detail(err))
		return
	}
	var found any
	if err == nil {
		found, err = s.read(answer)
	}
	if err != nil {
		resp.Diagnostics.Append(said.Failed(doing, err, said.Nowhere)...)
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, found)...)
}

func text(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

func number(description string) schema.Int64Attribute {
	return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
}

func truth(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Computed: true, MarkdownDescription: description}
}

func names(description string) schema.ListAttribute {
	return schema.ListAttribute{ElementType: types.StringType, Computed: true, MarkdownDescription: description}
}

func wanted(noun string) schema.StringAttribute {
	return schema.StringAttribute{Required: true, MarkdownDescription: "The " + noun + "'s name."}
}
