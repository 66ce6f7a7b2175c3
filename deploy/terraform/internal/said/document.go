package said

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"weft/deploy/terraform/internal/api"
)

// Document shows errors and warnings of a text in the attribute `text`, as compilers do: file, line, column, and the line
// with a caret below the place.
type Document struct{ Text string }

var at = path.Root("text")

// Failed returns the diagnostics of a request with the document that failed.
func (d Document) Failed(doing string, err error) diag.Diagnostics {
	problem, ok := errors.AsType[*api.Problem](err)
	if !ok || len(problem.Errors) == 0 || problem.Errors[0].Line == 0 {
		return Failed(doing, err, func(string) (path.Path, bool) { return at, true })
	}
	var found diag.Diagnostics
	for _, one := range problem.Errors {
		found.Append(d.Error(one, problem.Remedy()))
	}
	return found
}

// Error returns the diagnostic of an error.
func (d Document) Error(one api.FieldError, remedy string) diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(at, summary(one), lines(d.shown(one), remedy))
}

// Warning returns the diagnostic of a warning.
func (d Document) Warning(one api.FieldError) diag.Diagnostic {
	return diag.NewAttributeWarningDiagnostic(at, summary(one), d.shown(one))
}

func summary(one api.FieldError) string {
	if one.Line == 0 {
		return message(one)
	}
	return fmt.Sprintf("%s:%d:%d: %s", one.File, one.Line, one.Column, message(one))
}

// shown returns the line of the error with a caret below its column, and the field.
func (d Document) shown(one api.FieldError) string {
	var found []string
	if written := strings.Split(d.Text, "\n"); one.Line > 0 && one.Line <= len(written) {
		line := []rune(strings.TrimRight(written[one.Line-1], "\r"))
		before := line[:min(max(one.Column-1, 0), len(line))]
		found = append(found, "  "+string(line), "  "+blank(before)+"^")
	}
	if one.Field != "" {
		found = append(found, "This is "+one.Field+".")
	}
	return strings.Join(found, "\n")
}

// blank returns as much room as the text takes; tabs stay.
func blank(text []rune) string {
	return strings.Map(func(each rune) rune {
		if each == '\t' {
			return each
		}
		return ' '
	}, string(text))
}
