package said

import (
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// Of returns the places of a resource's attributes. The controller writes a field as a dotted path, such as `labels.city`
// or `ports.0`. `aliases` are the attributes of fields that have another name there.
func Of(attributes map[string]schema.Attribute, aliases map[string]string) Places {
	return func(field string) (path.Path, bool) {
		name, rest, _ := strings.Cut(field, ".")
		if alias, ok := aliases[name]; ok {
			name = alias
		}
		attribute, ok := attributes[name]
		if !ok {
			return path.Empty(), false
		}
		at := path.Root(name)
		if rest == "" {
			return at, true
		}
		switch found := attribute.(type) {
		case schema.MapAttribute:
			return at.AtMapKey(rest), true
		case schema.ListAttribute:
			if index, err := strconv.Atoi(rest); err == nil {
				return at.AtListIndex(index), true
			}
		case schema.SingleNestedAttribute:
			inner, _, _ := strings.Cut(rest, ".")
			if _, ok := found.Attributes[inner]; ok {
				return at.AtName(inner), true
			}
		}
		return at, true
	}
}
