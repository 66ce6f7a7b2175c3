package wire

// longest are the most bytes of a family's NLRI.
var longest = [Families]int{
	VPLS: 2 + vplsLength, EVPN: 2 + 255, VPNv4: 1 + vpnIPv4/8, VPNv6: 1 + vpnIPv6/8,
	Flow4: flowLongest, Flow6: flowLongest, FlowVPN4: flowLongest, FlowVPN6: flowLongest, RTC: 1 + membershipAll/8,
}

// slack is more than the attributes of a route grow by on their way, but for those that may be sent twice (AS_PATH and
// AS4_PATH): what reflection, an AS border and headers add.
const slack = 256

// Room is how long an NLRI may be to fit into a message of at most limit bytes with these attributes, to a recipient of a
// kind and with this many route targets of its own; it is less than 1 if none does. A family's longest NLRI is reported for any
// that is longer.
func (a *Attributes) Room(f Family, r Reflection, k Kind, targets, limit int) int {
	most := 2*len(a.Path) + len(a.NextHop) + len(a.ClusterList) + len(a.Communities) + 8*targets + slack
	if most+longest[f] <= limit {
		return longest[f] // nearly always, and asked for every group and recipient
	}
	return min(longest[f], limit-a.fixed(a.tail(r, k, targets), targets))
}

// fixed is what an announcement has beside its NLRIs, in bytes.
func (a *Attributes) fixed(tail []byte, targets int) int {
	return HeaderLength + 4 + 4 + 5 + len(a.NextHop) + len(tail) + 8*targets
}

// Holds says whether every NLRI of a family fits where there is room for one of this many bytes.
func (f Family) Holds(room int) bool { return room >= longest[f] }
