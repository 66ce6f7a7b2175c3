package bmp

import (
	"encoding/binary"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/wire"
)

// Statistics (RFC 7854 section 4.8, RFC 8671 section 6.2).
const (
	statRejected       = 0 // prefixes rejected by inbound policy: those put into quarantine
	statRepeated       = 1 // duplicate prefix advertisements
	statVain           = 2 // duplicate withdrawals
	statClusterLoops   = 3
	statASLoops        = 4
	statOriginLoops    = 5
	statAdjRIBIn       = 7  // routes
	statLocRIB         = 8  // routes: those accepted
	statAdjRIBInFamily = 9  // per AFI and SAFI
	statLocRIBFamily   = 10 // per AFI and SAFI
	statMalformed      = 11 // UPDATEs treated as withdrawals
	statUntrusted      = 12 // prefixes treated as withdrawn
	statAdjRIBOut      = 15 // routes, post-policy
	statAdjRIBOutOf    = 17 // per AFI and SAFI
)

// statistics collects the TLVs of a report.
type statistics struct {
	count uint32
	tlvs  []byte
}

func (s *statistics) counter(kind uint16, n uint64) {
	s.count++
	s.tlvs = binary.BigEndian.AppendUint16(s.tlvs, kind)
	s.tlvs = append(s.tlvs, 0, 4)
	s.tlvs = binary.BigEndian.AppendUint32(s.tlvs, uint32(n))
}

func (s *statistics) gauge(kind uint16, n int) {
	s.count++
	s.tlvs = binary.BigEndian.AppendUint16(s.tlvs, kind)
	s.tlvs = append(s.tlvs, 0, 8)
	s.tlvs = binary.BigEndian.AppendUint64(s.tlvs, uint64(n))
}

func (s *statistics) gauges(whole, each uint16, families [wire.Families]bool, sizes [wire.Families]int) {
	total := 0
	for f := range wire.Families {
		total += sizes[f]
	}
	s.gauge(whole, total)
	for f := range wire.Families {
		if !families[f] || f == wire.RTC {
			continue
		}
		s.count++
		s.tlvs = binary.BigEndian.AppendUint16(s.tlvs, each)
		s.tlvs = append(s.tlvs, 0, 11)
		s.tlvs = binary.BigEndian.AppendUint16(s.tlvs, f.AFI())
		s.tlvs = append(s.tlvs, f.SAFI())
		s.tlvs = binary.BigEndian.AppendUint64(s.tlvs, uint64(sizes[f]))
	}
}

// AppendStatistics appends the report about a peer with a session. Counters start at the route server's start.
func AppendStatistics(dst []byte, a *engine.Account, at int64) []byte {
	var s statistics
	rejected := uint64(0)
	for _, n := range a.Refused {
		rejected += n
	}
	s.counter(statRejected, rejected)
	s.counter(statRepeated, a.Repeated)
	s.counter(statVain, a.Vain)
	s.counter(statClusterLoops, a.Clusters)
	s.counter(statASLoops, a.ASLoops)
	s.counter(statOriginLoops, a.OriginLoops)
	s.counter(statMalformed, a.Malformed)
	s.counter(statUntrusted, a.Untrusted)
	s.gauges(statAdjRIBIn, statAdjRIBInFamily, a.Session.Families, a.In)
	s.gauges(statLocRIB, statLocRIBFamily, a.Session.Families, a.Accepted)
	s.gauges(statAdjRIBOut, statAdjRIBOutOf, a.Session.Families, a.Out)
	start := len(dst)
	dst = appendPeer(begin(dst, statisticsReport), a.Session, 0, at)
	dst = binary.BigEndian.AppendUint32(dst, s.count)
	return finish(append(dst, s.tlvs...), start)
}
