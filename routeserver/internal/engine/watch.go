package engine

import (
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/wire"
)

// watchBuffer is how many changes wait for one reader, watchBytes how many bytes of attributes wait with them, and watchers
// how many watchers there may be at once.
const watchBuffer, watchBytes, watchers = 16384, 16 << 20, 128

// Kinds of route changes.
const (
	Announced   = "announced"   // by its PE, and accepted
	Withdrawn   = "withdrawn"   // by its PE, or its session ended
	Quarantined = "quarantined" // on arrival, by a change of the rule set, or because another route has its key
	SentTo      = "sent"        // queued for a PE, for the first time or with other attributes or route targets
	HeldFrom    = "held"        // not sent to a PE because of the poison-route guard
	Unsent      = "unsent"      // its withdrawal is queued for a PE
	Withheld    = "withheld"    // does not fit into a message that a PE accepts, and is not sent
)

// RouteChange is one thing that happened to one route.
type RouteChange struct {
	Kind string
	At   time.Time
	View View
	size int64 // bytes of its attributes; 0 if the change before has the same
}

// Watcher gets the changes of routes that match its filter, in order. If its reader is too slow, C is closed after the
// changes that it still holds.
type Watcher struct {
	C      chan RouteChange
	filter Filter
	last   *wire.Attributes
	held   atomic.Int64 // bytes of attributes that wait
}

// Took records that a change was taken from C.
func (w *Watcher) Took(c RouteChange) { w.held.Add(-c.size) }

// Watch begins to watch; it returns nil if there are too many watchers. Peer in the filter is the announcing PE or the
// recipient; Table and Limit have no effect.
func (e *Engine) Watch(f Filter) *Watcher {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.watchers) >= watchers {
		return nil
	}
	w := &Watcher{C: make(chan RouteChange, watchBuffer), filter: f}
	e.watchers[w] = struct{}{}
	return w
}

// Unwatch ends a watch.
func (e *Engine) Unwatch(w *Watcher) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.watchers, w)
}

// tell informs the watchers about routes of a group. to and targets are the recipient and its route targets, or empty.
// Without watchers it costs nothing.
func (ao *adjRIBOut) tell(kind string, g *rib.Group, nlris []string, to, targets string) {
	if len(ao.watchers) == 0 {
		return
	}
	var held []string
	if kind == SentTo {
		nlris, held = ao.peers[to].split(g, nlris)
	}
	ao.inform(kind, g, nlris, to, targets)
	ao.inform(HeldFrom, g, held, to, targets)
}

func (ao *adjRIBOut) inform(kind string, g *rib.Group, nlris []string, to, targets string) {
	if len(nlris) == 0 {
		return
	}
	at := now()
	for w := range ao.watchers {
		c := RouteChange{Kind: kind, At: at, View: View{
			Table: AdjIn, Family: g.Family, Endpoint: g.Endpoint, Peer: g.Peer, To: to, Targets: targets,
			Reason: g.Reason, Attributes: g.Attributes,
		}}
		if !w.tell(c, nlris, func(nlri string) bool { return ao.about(&w.filter, g, nlri) }) {
			close(w.C)
			delete(ao.watchers, w)
		}
	}
}

// tell hands the watcher the changes that pass its filter. about reports whether an NLRI belongs to the filter's endpoint
// or pool. It returns false if the watcher's reader is too slow.
func (w *Watcher) tell(c RouteChange, nlris []string, about func(nlri string) bool) bool {
	f, v := &w.filter, &c.View
	if c.Kind == Withheld {
		v.Withheld = MessageSize
	}
	if c.View.To != "" {
		v.Table = AdjOut
	} else {
		v.Targets = v.Attributes.RTs
		if v.Endpoint == "" {
			v.Table = Quarantine
		}
	}
	if !f.AnyFamily && f.Family != v.Family || f.Peer != "" && f.Peer != v.Peer && f.Peer != v.To ||
		!f.AnyRT && !slices.Contains(wire.RTs(v.Targets), f.RT) {
		return true
	}
	for _, nlri := range nlris {
		if !f.carried(v.Family, nlri) || !about(nlri) {
			continue
		}
		v.NLRI, c.size = nlri, 0
		if v.Attributes != w.last {
			w.last, c.size = v.Attributes, int64(v.Attributes.Bytes())
		}
		if w.held.Add(c.size) <= watchBytes {
			select {
			case w.C <- c:
				continue
			default:
			}
		}
		return false
	}
	return true
}

// carried reports whether an NLRI has a filter's MAC address, and an address or prefix within the filter's prefix.
func (f *Filter) carried(family wire.Family, nlri string) bool {
	if f.MAC == "" && !f.Prefix.IsValid() {
		return true
	}
	fields := family.Fields(nlri)
	if mac, _ := fields["mac"].(string); f.MAC != "" && !strings.EqualFold(mac, f.MAC) {
		return false
	}
	return !f.Prefix.IsValid() || within(f.Prefix, fields["ip"]) || within(f.Prefix, fields["prefix"])
}

func within(outer netip.Prefix, field any) bool {
	text, _ := field.(string)
	inner, err := netip.ParsePrefix(text)
	if err != nil {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return false
		}
		inner = netip.PrefixFrom(address, address.BitLen())
	}
	return inner.Bits() >= outer.Bits() && outer.Contains(inner.Addr())
}
