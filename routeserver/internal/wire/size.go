package wire

// longest is the greatest length of a family's NLRI in bytes.
var longest = [Families]int{
	VPLS: 2 + vplsLength, EVPN: 2 + 255, VPNv4: 1 + vpnIPv4/8, VPNv6: 1 + vpnIPv6/8,
	Flow4: flowLongest, Flow6: flowLongest, FlowVPN4: flowLongest, FlowVPN6: flowLongest, RTC: 1 + membershipAll/8,
}

// slack exceeds the growth of a route's attributes on their way by reflection, an AS border and headers. It does not
// cover those that may be sent twice (AS_PATH and AS4_PATH).
const slack = 256

// Room returns the greatest length of an NLRI that fits, with these attributes, into a message of at most limit bytes
// to a recipient of a kind and with this many route targets of its own; less than 1: none fits. The result is at most
// the family's longest NLRI.
func (a *Attributes) Room(f Family, r Reflection, k Kind, targets, limit int) int {
	most := 2*len(a.Path) + len(a.NextHop) + len(a.ClusterList) + len(a.Communities) + 8*targets + slack
	if most+longest[f] <= limit {
		return longest[f] // the usual case; this is called for every group and recipient
	}
	return min(longest[f], limit-a.fixed(a.tail(r, k, targets), targets))
}

// fixed returns the length of an announcement without its NLRIs, in bytes.
func (a *Attributes) fixed(tail []byte, targets int) int {
	return HeaderLength + 4 + 4 + 5 + len(a.NextHop) + len(tail) + 8*targets
}

// Holds reports whether room for this many bytes is enough for every NLRI of a family.
func (f Family) Holds(room int) bool { return room >= longest[f] }
