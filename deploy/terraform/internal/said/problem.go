// Package said turns what the controller says into diagnostics of Terraform, at the attribute at fault.
package said

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"weft/deploy/terraform/internal/api"
)

// Places returns the attribute for a field of a request, and whether there is one.
type Places func(field string) (path.Path, bool)

// Nowhere knows no attribute.
func Nowhere(string) (path.Path, bool) { return path.Empty(), false }

// Failed returns the diagnostics of a request that failed. `doing` says what was tried, such as "add cloudlet c1".
func Failed(doing string, err error, places Places) diag.Diagnostics {
	var found diag.Diagnostics
	problem, ok := errors.AsType[*api.Problem](err)
	if !ok {
		found.AddError("Cannot "+doing, err.Error())
		return found
	}
	summary := fmt.Sprintf("Cannot %s: %s", doing, strings.ToLower(problem.Title))
	if problem.Status >= 500 {
		summary = fmt.Sprintf("Cannot %s: the controller failed", doing)
	}
	for _, one := range problem.Errors {
		detail := lines(message(one), problem.Remedy())
		if at, ok := places(one.Field); ok {
			found.AddAttributeError(at, summary, detail)
			continue
		}
		if one.Field != "" && !strings.Contains(one.Message, one.Field) {
			detail = one.Field + ": " + detail
		}
		found.AddError(summary, detail)
	}
	if len(problem.Errors) == 0 {
		again := ""
		if problem.Status == 412 {
			again = "Plan again, and see whether your change is still to be."
		}
		found.AddError(summary, lines(problem.Detail, again, problem.Diff, problem.Remedy()))
	}
	return found
}

// Foreseen returns the same as warnings: the controller refuses a change as the region is now, which other changes of the
// same plan may alter.
func Foreseen(doing string, err error, places Places) diag.Diagnostics {
	var found diag.Diagnostics
	for _, one := range Failed(doing, err, places) {
		detail := lines(one.Detail(), "The controller says this of the region as it is now. If no other change of this plan "+
			"alters that, the apply fails with the same words.")
		if at, ok := one.(diag.DiagnosticWithPath); ok {
			found.AddAttributeWarning(at.Path(), one.Summary(), detail)
		} else {
			found.AddWarning(one.Summary(), detail)
		}
	}
	return found
}

// message returns an error's words, with the value that was probably meant.
func message(one api.FieldError) string {
	if one.Suggestion == "" || strings.Contains(one.Message, one.Suggestion) {
		return one.Message
	}
	return fmt.Sprintf("%s: did you mean %q?", one.Message, one.Suggestion)
}

// lines joins the parts that are not empty.
func lines(parts ...string) string {
	var said []string
	for _, part := range parts {
		if part != "" {
			said = append(said, part)
		}
	}
	return strings.Join(said, "\n")
}
