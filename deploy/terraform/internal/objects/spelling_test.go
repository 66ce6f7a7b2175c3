package objects

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestASpellingIsKept(t *testing.T) {
	for _, one := range []struct {
		mine, theirs, wanted string
		meaning              func(string) string
	}{
		{"0200.5E00.0001", "02:00:5e:00:00:01", "0200.5E00.0001", asMAC},
		{"02-00-5e-00-00-02", "02:00:5e:00:00:01", "02:00:5e:00:00:01", asMAC},
		{"no MAC", "02:00:5e:00:00:01", "02:00:5e:00:00:01", asMAC},
		{"2001:DB8:0::/64", "2001:db8::/64", "2001:DB8:0::/64", asPrefix},
		{"10.1.0.0/24", "10.1.0.0/25", "10.1.0.0/25", asPrefix},
		{"192.0.2.1", "192.0.2.1", "192.0.2.1", asAddress},
	} {
		if found := spelt(types.StringValue(one.mine), &one.theirs, one.meaning); found.ValueString() != one.wanted {
			t.Errorf("%s for %s is %s", one.mine, one.theirs, found)
		}
	}
	theirs := "10.1.0.0/24"
	if !spelt(types.StringValue("x"), nil, asPrefix).IsNull() || spelt(types.StringUnknown(), &theirs, asPrefix).IsUnknown() {
		t.Error("what is not there, or not known yet, has no spelling")
	}
}

func TestFormsAreTold(t *testing.T) {
	for _, one := range []struct {
		form         form
		right, wrong []string
	}{
		{address4, []string{"192.0.2.1"}, []string{"192.0.2", "2001:db8::1", "", "192.0.2.1/32"}},
		{prefix4, []string{"10.1.0.0/24"}, []string{"10.1.0.1/24", "10.1.0.0", "2001:db8::/64"}},
		{prefix6, []string{"2001:DB8::/64"}, []string{"2001:db8::1/64", "10.1.0.0/24"}},
		{mac, []string{"02:00:5e:00:00:01", "0200.5e00.0001", "02-00-5E-00-00-01", "02005e000001"}, []string{"02:00", "x", ""}},
	} {
		for _, text := range one.right {
			if !one.form.right(text) {
				t.Errorf("%q is %s", text, one.form.noun)
			}
		}
		for _, text := range one.wrong {
			if one.form.right(text) {
				t.Errorf("%q is not %s", text, one.form.noun)
			}
		}
	}
}

func TestAPatchHasTheDifferencesAlone(t *testing.T) {
	changed := fields{}
	changed.altered("mtu", types.Int64Value(1450), types.Int64Value(1450))
	changed.altered("vni", types.Int64Value(1), types.Int64Unknown())
	changed.altered("tenant", types.StringValue("acme"), types.StringNull())
	changed.altered("ports", list([]string{"a"}), list(nil))
	changed.merged(t.Context(), "labels", mapping(map[string]string{"a": "1", "b": "2", "c": "3"}),
		mapping(map[string]string{"b": "2", "c": "4", "d": "5"}))
	changed.merged(t.Context(), "options", mapping(nil), types.MapNull(types.StringType))
	if len(changed) != 3 || changed["tenant"] != nil || len(changed["ports"].([]any)) != 0 {
		t.Error(changed)
	}
	labels := changed["labels"].(map[string]any)
	if value, there := labels["a"]; len(labels) != 3 || !there || value != nil || labels["c"] != "4" || labels["d"] != "5" {
		t.Error(labels)
	}
}
