package objects

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// given puts a value into a request's body if it is known and not null.
func (f fields) given(name string, value attr.Value) {
	if !value.IsNull() && !value.IsUnknown() {
		f[name] = plain(value)
	}
}

// altered puts a value into a patch if it differs from the one before; null returns the field to its default.
func (f fields) altered(name string, before, after attr.Value) {
	if after.IsUnknown() || after.Equal(before) {
		return
	}
	f[name] = plain(after)
}

// merged puts the differences of a mapping into a patch; null removes a key.
func (f fields) merged(ctx context.Context, name string, before, after types.Map) {
	if after.IsUnknown() || after.Equal(before) {
		return
	}
	was, now := texts(ctx, before), texts(ctx, after)
	changed := map[string]any{}
	for key := range was {
		if _, stays := now[key]; !stays {
			changed[key] = nil
		}
	}
	for key, value := range now {
		if old, there := was[key]; !there || old != value {
			changed[key] = value
		}
	}
	if len(changed) > 0 {
		f[name] = changed
	}
}

// plain returns a value as JSON has it.
func plain(value attr.Value) any {
	if value.IsNull() || value.IsUnknown() {
		return nil
	}
	switch found := value.(type) {
	case types.String:
		return found.ValueString()
	case types.Bool:
		return found.ValueBool()
	case types.Int64:
		return found.ValueInt64()
	case types.Float64:
		return found.ValueFloat64()
	case types.List:
		return each(found.Elements())
	case types.Map:
		inner := map[string]any{}
		for key, one := range found.Elements() {
			inner[key] = plain(one)
		}
		return inner
	case types.Object:
		inner := map[string]any{}
		for key, one := range found.Attributes() {
			inner[key] = plain(one)
		}
		return inner
	}
	return nil
}

func each(values []attr.Value) []any {
	found := make([]any, len(values))
	for i, value := range values {
		found[i] = plain(value)
	}
	return found
}

// texts returns a mapping's values; none if it is null.
func texts(ctx context.Context, mapping types.Map) map[string]string {
	found := map[string]string{}
	if !mapping.IsNull() && !mapping.IsUnknown() {
		mapping.ElementsAs(ctx, &found, false)
	}
	return found
}

// list, mapping and set return values of Terraform.
func list(values []string) types.List {
	return types.ListValueMust(types.StringType, elements(values))
}

func set(values []string) types.Set {
	return types.SetValueMust(types.StringType, elements(values))
}

func mapping(values map[string]string) types.Map {
	found := map[string]attr.Value{}
	for key, value := range values {
		found[key] = types.StringValue(value)
	}
	return types.MapValueMust(types.StringType, found)
}

func elements(values []string) []attr.Value {
	found := make([]attr.Value, len(values))
	for i, value := range values {
		found[i] = types.StringValue(value)
	}
	return found
}
