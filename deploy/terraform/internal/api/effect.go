package api

import "strings"

// Effect is the effect of a change of the network, as far as the operator is told.
type Effect struct {
	InForce     *bool `json:"in_force"`
	Unreachable []string
	Behind      []string
	Agents      []struct {
		Cloudlet  string
		Confirmed bool
	}
	Interrupted []struct{ Kind, Name, What string }
}

// Delay returns why a change that was made is not in force yet; empty if it is, or concerns no network.
func (e Effect) Delay() string {
	if e.InForce == nil || *e.InForce {
		return ""
	}
	said := []string{"The change is made, and will come into force by itself."}
	if len(e.Unreachable) > 0 {
		said = append(said, "Route servers that gave no receipt: "+strings.Join(e.Unreachable, ", ")+".")
	}
	if len(e.Behind) > 0 {
		said = append(said, "PEs that do not take what they are sent: "+strings.Join(e.Behind, ", ")+".")
	}
	waiting := []string{}
	for _, agent := range e.Agents {
		if !agent.Confirmed {
			waiting = append(waiting, agent.Cloudlet)
		}
	}
	if len(waiting) > 0 {
		said = append(said, "Cloudlets whose agents have not reported it: "+strings.Join(waiting, ", ")+".")
	}
	return strings.Join(append(said, "`weft doctor` says more."), " ")
}

// Interruptions returns a line for each cloudlet or endpoint whose traffic the change interrupts.
func (e Effect) Interruptions() []string {
	lines := make([]string, len(e.Interrupted))
	for i, one := range e.Interrupted {
		lines[i] = one.Kind + " " + one.Name + ": " + one.What
	}
	return lines
}
