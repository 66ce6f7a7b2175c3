package wire

// Neighbour is who sent an UPDATE, as far as that decides how it is read.
type Neighbour struct {
	ASN      uint32 // the neighbour's AS number
	Own      uint32 // ours
	TwoOctet bool   // it does not speak four-octet AS numbers (RFC 6793)
}

// External says whether the neighbour is of another AS.
func (n Neighbour) External() bool { return n.ASN != n.Own }

// Kind is the neighbour as a recipient.
func (n Neighbour) Kind() Kind { return Kind{External: n.External(), TwoOctet: n.TwoOctet} }

// rule finds how an attribute from this neighbour has to look; nil if it is not known.
func (n Neighbour) rule(kind uint8) *rule {
	if n.External() {
		if r := externalRules[kind]; r != nil {
			return r
		}
	}
	if n.TwoOctet {
		if r := twoOctetRules[kind]; r != nil {
			return r
		}
	}
	if r := &rules[kind]; r.name != "" {
		return r
	}
	return nil
}
