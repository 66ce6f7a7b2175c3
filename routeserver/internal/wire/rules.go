package wire

// remedy is the treatment of an attribute that is not as it should be (RFC 7606 section 2).
type remedy uint8

const (
	fine remedy = iota
	discard
	withdraw
)

// rule is the required form of an attribute that we know.
type rule struct {
	name  string
	flags uint8 // optional and transitive bits
	check func(value []byte) bool
	bad   remedy                  // if the flags differ, or check fails
	drop  bool                    // not sent on, even if fine
	list  int                     // bytes of an element of a list in which repetitions mean nothing; 0: not such a list
	vital func(value []byte) bool // if true of a bad value, the route is useless without it: bad is then withdraw
}

// The optional and transitive bits of the three kinds of attributes.
const (
	flagsWellKnown  = flagTransitive
	flagsTransitive = flagOptional | flagTransitive
	flagsLocal      = flagOptional
)

// rules are those of RFC 7606 section 7 and of later documents on their attributes, for internal peers with four-octet
// AS numbers. A transitive attribute without a rule is sent on as unknown. This includes those of drafts that may still
// change (34, 39 and 42).
var rules = [256]rule{
	attrOrigin:          {name: "ORIGIN", flags: flagsWellKnown, check: func(v []byte) bool { return len(v) == 1 && v[0] <= 2 }, bad: withdraw},
	attrASPath:          {name: "AS_PATH", flags: flagsWellKnown, check: validPath(4), bad: withdraw},
	attrNextHop:         {name: "NEXT_HOP", flags: flagsWellKnown, check: exactly(4), bad: withdraw, drop: true}, // ours is in MP_REACH_NLRI
	attrMED:             {name: "MULTI_EXIT_DISC", flags: flagsLocal, check: exactly(4), bad: withdraw},
	attrLocalPref:       {name: "LOCAL_PREF", flags: flagsWellKnown, check: exactly(4), bad: withdraw},
	attrAtomicAggregate: {name: "ATOMIC_AGGREGATE", flags: flagsWellKnown, check: exactly(0), bad: discard},
	attrAggregator:      {name: "AGGREGATOR", flags: flagsTransitive, check: validAggregator(4), bad: discard},
	attrCommunities:     {name: "COMMUNITIES", flags: flagsTransitive, check: multiple(4), bad: withdraw, list: 4},
	attrOriginator:      {name: "ORIGINATOR_ID", flags: flagsLocal, check: exactly(4), bad: withdraw, drop: true},
	attrClusterList:     {name: "CLUSTER_LIST", flags: flagsLocal, check: multiple(4), bad: withdraw, drop: true},
	attrExtCommunities:  {name: "EXTENDED_COMMUNITIES", flags: flagsTransitive, check: multiple(8), bad: withdraw, drop: true, list: 8},
	attrExtCommunities6: {name: "IPV6_EXTENDED_COMMUNITIES", flags: flagsTransitive, check: multiple(20), bad: withdraw, list: 20},
	attrLargeCommunity:  {name: "LARGE_COMMUNITY", flags: flagsTransitive, check: multiple(12), bad: withdraw, list: 12}, // RFC 8092 section 5

	attrAS4Path:       {name: "AS4_PATH", flags: flagsTransitive, check: never, bad: discard, drop: true}, // RFC 6793 section 6
	attrAS4Aggregator: {name: "AS4_AGGREGATOR", flags: flagsTransitive, check: never, bad: discard, drop: true},

	attrPMSI:           {name: "PMSI_TUNNEL", flags: flagsTransitive, check: validPMSI, bad: withdraw},
	attrTunnelEncap:    {name: "TUNNEL_ENCAPSULATION", flags: flagsTransitive, check: validTunnels, bad: withdraw},
	attrPrefixSID:      {name: "PREFIX_SID", flags: flagsTransitive, check: validPrefixSID, bad: discard, vital: hasService},
	attrOnlyToCustomer: {name: "ONLY_TO_CUSTOMER", flags: flagsTransitive, check: exactly(4), bad: withdraw}, // RFC 9234 section 5
	attrDomainPath:     {name: "D_PATH", flags: flagsTransitive, check: validDomainPath, bad: withdraw},
	attrSet:            {name: "ATTR_SET", flags: flagsTransitive, check: nil, bad: withdraw}, // validSet, which reads these rules

	// For other families, and opaque in ours: others only need them to be well-formed.
	attrPELabels:        {name: "PE_DISTINGUISHER_LABELS", flags: flagsTransitive, check: validPELabels, bad: discard},
	attrServiceFunction: {name: "SFP", flags: flagsTransitive, check: someTLVs(1, 2), bad: discard},         // RFC 9015 section 3.2
	attrBFD:             {name: "BFD_DISCRIMINATOR", flags: flagsTransitive, check: validBFD, bad: discard}, // RFC 9026 section 3.1.6
	attrBIER:            {name: "BIER", flags: flagsTransitive, check: someTLVs(2, 2), bad: discard},        // RFC 9793 section 3

	// Not transitive, and without a meaning in our families or for us: RFC 5543, 7311, 8205 and 9552.
	attrTraffic:   {name: "TRAFFIC_ENGINEERING", flags: flagsLocal, check: anything, bad: discard, drop: true},
	attrAIGP:      {name: "AIGP", flags: flagsLocal, check: validAIGP, bad: discard, drop: true},
	attrLinkState: {name: "BGP_LS", flags: flagsLocal, check: anything, bad: discard, drop: true},
	attrBGPsec:    {name: "BGPSEC_PATH", flags: flagsLocal, check: anything, bad: discard, drop: true},

	// Deprecated or reserved: no document in force defines their form, and speakers treat them differently (RFC 2042,
	// 6938, 7447 and 8093; IANA).
	attrReserved:     withoutForm("attribute_0"),
	attrDPA:          withoutForm("DPA"),
	attrAdvertiser:   withoutForm("ADVERTISER"),
	attrRCIDPath:     withoutForm("RCID_PATH"),
	attrSAFISpecific: withoutForm("SAFI_SPECIFIC"),
	attrConnector:    withoutForm("CONNECTOR"),
	attrASPathLimit:  withoutForm("AS_PATHLIMIT"),
	attrEntropyLabel: withoutForm("ENTROPY_LABEL_CAPABILITY"),
	30:               withoutForm("attribute_30"),
	31:               withoutForm("attribute_31"),
	129:              withoutForm("attribute_129"),
	241:              withoutForm("attribute_241"),
	242:              withoutForm("attribute_242"),
	243:              withoutForm("attribute_243"),
	attrDevelopment:  withoutForm("attribute_255"),
}

func init() { rules[attrSet].check = validSet }

// externalRules replace rules for external peers, which must not send these attributes.
var externalRules = map[uint8]*rule{
	attrLocalPref:   {name: "LOCAL_PREF", flags: flagsWellKnown, check: never, bad: discard, drop: true},
	attrOriginator:  {name: "ORIGINATOR_ID", flags: flagsLocal, check: never, bad: discard, drop: true},
	attrClusterList: {name: "CLUSTER_LIST", flags: flagsLocal, check: never, bad: discard, drop: true},
}

// withoutForm returns the rule for an attribute that is left out, whatever its value.
func withoutForm(name string) rule {
	return rule{name: name, flags: flagsTransitive, check: never, bad: discard, drop: true}
}

// exactly and multiple return the length checks that most attributes need.
func exactly(n int) func([]byte) bool { return func(v []byte) bool { return len(v) == n } }
func multiple(n int) func([]byte) bool {
	return func(v []byte) bool { return len(v) > 0 && len(v)%n == 0 }
}

// never checks attributes that this neighbour must not send, and anything those that are not sent on.
func never([]byte) bool    { return false }
func anything([]byte) bool { return true }

// remedy returns the treatment of an attribute with this rule.
func (r *rule) remedy(flags uint8, value []byte) remedy {
	switch {
	case flags&(flagOptional|flagTransitive) == r.flags && r.check(value):
		return fine
	case r.vital != nil && r.vital(value):
		return withdraw
	}
	return r.bad
}
