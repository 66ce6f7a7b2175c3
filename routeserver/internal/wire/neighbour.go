package wire

// Neighbour is the part of an UPDATE's sender that decides how the UPDATE is read.
type Neighbour struct {
	ASN      uint32 // the neighbour's AS number
	Own      uint32 // ours
	TwoOctet bool   // it does not speak four-octet AS numbers (RFC 6793)
}

// External reports whether the neighbour is in another AS.
func (n Neighbour) External() bool { return n.ASN != n.Own }

// Kind returns the neighbour's kind as a recipient.
func (n Neighbour) Kind() Kind { return Kind{External: n.External(), TwoOctet: n.TwoOctet} }

// rule returns the rule for an attribute from this neighbour; nil if the attribute is unknown.
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
