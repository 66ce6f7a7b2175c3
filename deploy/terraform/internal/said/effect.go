package said

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"weft/deploy/terraform/internal/api"
)

// Delayed returns a warning if a change is made and not in force yet.
func Delayed(doing string, answer *api.Answer) diag.Diagnostics {
	var found diag.Diagnostics
	effect := api.Effect{}
	if answer.Read(&effect) == nil && effect.Delay() != "" {
		found.AddWarning("Not in force yet: "+doing, effect.Delay())
	}
	return found
}

// Interrupting returns a warning that names the traffic which a planned change interrupts.
func Interrupting(doing string, effect api.Effect) diag.Diagnostics {
	var found diag.Diagnostics
	if said := effect.Interruptions(); len(said) > 0 {
		found.AddWarning("This interrupts traffic: "+doing, strings.Join(said, "\n"))
	}
	return found
}

// Sentences returns a warning of sentences about what a planned change interrupts.
func Sentences(doing string, sentences []string) diag.Diagnostics {
	var found diag.Diagnostics
	found.AddWarning("This interrupts traffic: "+doing, strings.Join(sentences, "\n"))
	return found
}
