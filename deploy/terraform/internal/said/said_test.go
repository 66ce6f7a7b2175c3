package said

import (
	"errors"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"weft/deploy/terraform/internal/api"
)

var attributes = map[string]schema.Attribute{
	"name":   schema.StringAttribute{},
	"labels": schema.MapAttribute{ElementType: types.StringType},
	"ports":  schema.ListAttribute{ElementType: types.StringType},
	"vm":     schema.SingleNestedAttribute{Attributes: map[string]schema.Attribute{"mac": schema.StringAttribute{}}},
}

func TestAFieldIsAnAttribute(t *testing.T) {
	places := Of(attributes, map[string]string{"endpoint": "name"})
	for field, wanted := range map[string]string{
		"name": "name", "endpoint": "name", "labels.city": `labels["city"]`, "ports.1": "ports[1]", "vm.mac": "vm.mac",
		"vm": "vm", "vm.other": "vm", "ports.x": "ports", "labels": "labels",
	} {
		if found, ok := places(field); !ok || found.String() != wanted {
			t.Errorf("%s is at %s", field, found)
		}
	}
	if _, ok := places("Idempotency-Key"); ok {
		t.Error("it has no attribute of that name")
	}
}

// shown returns the path, summary and detail of the only diagnostic.
func shown(t *testing.T, found diag.Diagnostics) (string, string, string) {
	t.Helper()
	if len(found) != 1 {
		t.Fatalf("%d diagnostics: %v", len(found), found)
	}
	at := ""
	if placed, ok := found[0].(diag.DiagnosticWithPath); ok {
		at = placed.Path().String()
	}
	return at, found[0].Summary(), found[0].Detail()
}

func TestAProblemIsSaidAtItsAttribute(t *testing.T) {
	places := Of(attributes, nil)
	conflict := func(one ...api.FieldError) error {
		return &api.Problem{Title: "Conflict", Status: 409, Detail: "it cannot be", Errors: one}
	}
	for name, one := range map[string]struct {
		err                 error
		at, summary, detail string
	}{
		"a field": {conflict(api.FieldError{Field: "name", Message: "taken"}), "name", "Cannot add c1: conflict", "taken"},
		"a suggestion": {
			conflict(api.FieldError{Field: "name", Message: "unknown", Suggestion: "c1-lan"}), "name",
			"Cannot add c1: conflict", `unknown: did you mean "c1-lan"?`,
		},
		"another field": {
			conflict(api.FieldError{Field: "other", Message: "wrong"}), "", "Cannot add c1: conflict", "other: wrong",
		},
		"no field":  {conflict(), "", "Cannot add c1: conflict", "it cannot be"},
		"a failure": {&api.Problem{Title: "T", Status: 503, Detail: "away"}, "", "Cannot add c1: the controller failed", "away"},
		"no answer": {&api.Unreachable{URL: "u", Reason: "r"}, "", "Cannot add c1", "u: r"},
		"no API's":  {errors.New("no JSON"), "", "Cannot add c1", "no JSON"},
		"an old view": {
			&api.Problem{Title: "P", Status: 412, Detail: "old", Diff: "-a"}, "", "Cannot add c1: p",
			"old\nPlan again, and see whether your change is still to be.\n-a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			at, summary, detail := shown(t, Failed("add c1", one.err, places))
			if at != one.at || summary != one.summary || detail != one.detail {
				t.Errorf("at %q: %q\n%q", at, summary, detail)
			}
		})
	}
	found := Foreseen("add c1", conflict(api.FieldError{Field: "name", Message: "taken"}), places)
	if at, _, _ := shown(t, found); at != "name" || found.HasError() {
		t.Error(found)
	}
}

func TestAPlaceInADocumentIsShown(t *testing.T) {
	document := Document{"vcps:\n\tblau: {}\r\nß: ä\n"}
	for _, one := range []struct {
		err             api.FieldError
		summary, detail string
	}{
		{api.FieldError{File: "p.yaml", Line: 2, Column: 2, Field: "vcps.blau", Message: "wrong"},
			"p.yaml:2:2: wrong", "  \tblau: {}\n  \t^\nThis is vcps.blau."},
		{api.FieldError{File: "p.yaml", Line: 3, Column: 4, Message: "wrong"}, "p.yaml:3:4: wrong", "  ß: ä\n     ^"},
		{api.FieldError{File: "p.yaml", Line: 3, Column: 99, Message: "wrong"}, "p.yaml:3:99: wrong", "  ß: ä\n      ^"},
		{api.FieldError{File: "p.yaml", Line: 99, Column: 1, Message: "wrong"}, "p.yaml:99:1: wrong", ""},
	} {
		found := document.Failed("plan", &api.Problem{Title: "T", Status: 422, Errors: []api.FieldError{one.err}})
		at, summary, detail := shown(t, found)
		if at != "text" || summary != one.summary || detail != one.detail {
			t.Errorf("at %q: %q\n%q", at, summary, detail)
		}
	}
	at, _, detail := shown(t, document.Failed("plan", &api.Problem{Title: "Conflict", Status: 409, Detail: "on trial"}))
	if at != "" || detail != "on trial" {
		t.Error(at, detail)
	}
}

func TestADelayIsSaid(t *testing.T) {
	answer := func(body string) *api.Answer { return &api.Answer{Body: []byte(body)} }
	at, summary, detail := shown(t, Delayed("add c1", answer(`{"in_force":false,"unreachable":["rs1"],"behind":["c2"],"agents":`+
		`[{"cloudlet":"c3","confirmed":true},{"cloudlet":"c4","confirmed":false}]}`)))
	wanted := "The change is made, and will come into force by itself. Route servers that gave no receipt: rs1. " +
		"PEs that do not take what they are sent: c2. Cloudlets whose agents have not reported it: c4. " +
		"`weft doctor` says more."
	if at != "" || summary != "Not in force yet: add c1" || detail != wanted {
		t.Error(summary, detail)
	}
	for _, body := range []string{`{"in_force":true}`, `{"name":"c1"}`, `[]`} {
		if found := Delayed("add c1", answer(body)); len(found) > 0 {
			t.Error(body, found)
		}
	}
}
