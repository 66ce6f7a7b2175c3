package objects

import (
	"encoding/hex"
	"net/netip"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"
)

// spelt returns the value of the controller in the spelling of the configuration, if both mean the same.
func spelt(mine types.String, theirs *string, meaning func(string) string) types.String {
	if theirs == nil {
		return types.StringNull()
	}
	if !mine.IsNull() && !mine.IsUnknown() && meaning(mine.ValueString()) == meaning(*theirs) {
		return mine
	}
	return types.StringValue(*theirs)
}

// asPrefix, asAddress and asMAC return the one form of what can be written in several ways.
func asPrefix(text string) string {
	if found, err := netip.ParsePrefix(text); err == nil {
		return found.String()
	}
	return text
}

func asAddress(text string) string {
	if found, err := netip.ParseAddr(text); err == nil {
		return found.String()
	}
	return text
}

// asMAC knows all notations of vendors: they differ in what stands between the digits.
func asMAC(text string) string {
	if digits, ok := digitsOf(text); ok {
		return digits
	}
	return text
}

// digitsOf returns the twelve digits of a MAC address, and whether the text is one.
func digitsOf(text string) (string, bool) {
	digits := strings.ToLower(strings.NewReplacer(":", "", "-", "", ".", "").Replace(strings.TrimSpace(text)))
	found, err := hex.DecodeString(digits)
	return digits, err == nil && len(found) == 6
}
