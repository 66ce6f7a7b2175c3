package control

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/lookingglass"
	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

var filters = []string{"table", "peer", "endpoint", "pool", "prefix", "mac", "family", "rt", "reason", "limit", "cursor"}

// unknown refuses parameters that a request does not have: a misspelt one would select more than intended.
func unknown(q url.Values, known ...string) error {
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if !slices.Contains(known, name) {
			return &ruleset.Invalid{Field: name, Message: "there is no such parameter; there are " + strings.Join(known, ", ")}
		}
	}
	return nil
}

func filter(q url.Values) (engine.Filter, error) {
	f := engine.Filter{Table: q.Get("table"), Peer: q.Get("peer"), Endpoint: q.Get("endpoint"), Pool: q.Get("pool"), AnyFamily: true, AnyRT: true}
	if err := unknown(q, filters...); err != nil {
		return f, err
	}
	bad := func(field, format string, args ...any) (engine.Filter, error) {
		return f, &ruleset.Invalid{Field: field, Message: fmt.Sprintf(format, args...)}
	}
	switch f.Table {
	case "":
		f.Table = engine.AdjIn
	case engine.AdjIn, engine.Quarantine, engine.AdjOut, engine.Pools:
	default:
		return bad("table", "%q is not adj-in, quarantine, pools or adj-out", f.Table)
	}
	if reason := rib.Reason(q.Get("reason")); reason != "" {
		if f.Reason = reason; f.Table != engine.Quarantine || !reason.Known() {
			return bad("reason", "%q is not a reason for which routes are in table=quarantine", reason)
		}
	}
	var err error
	if family := q.Get("family"); family != "" {
		f.AnyFamily = false
		if f.Family, err = wire.ParseFamily(family); err != nil {
			return bad("family", "%s", err)
		}
	}
	if rt := q.Get("rt"); rt != "" {
		f.AnyRT = false
		if f.RT, err = wire.ParseRT(rt); err != nil {
			return bad("rt", "%s", err)
		}
	}
	if prefix := q.Get("prefix"); prefix != "" {
		if f.Prefix, err = netip.ParsePrefix(prefix); err != nil || f.Prefix != f.Prefix.Masked() {
			return bad("prefix", "%q is not a prefix, such as 10.1.0.0/16, without host bits", prefix)
		}
	}
	if mac := q.Get("mac"); mac != "" {
		address, err := net.ParseMAC(mac)
		if err != nil || len(address) != 6 {
			return bad("mac", "%q is not a MAC address", mac)
		}
		f.MAC = address.String()
	}
	return f, nil
}

func (s *Server) routes(w http.ResponseWriter, r *http.Request) {
	f, err := filter(r.URL.Query())
	if err != nil {
		s.failWith(w, err)
		return
	}
	limit, after, err := pageOf(r.URL.Query())
	if err != nil {
		s.failWith(w, err)
		return
	}
	f.Limit = limit
	views, more := s.Engine.Page(f, after)
	list, cut, err := fitting(len(views), func(i int) lookingglass.Route { return lookingglass.Describe(views[i]) })
	if err != nil {
		s.failWith(w, err)
		return
	}
	page := map[string]any{"routes": list, "truncated": more || cut, "next": nil}
	if more || cut {
		page["next"] = cursor(views[len(list)-1].Place())
	}
	reply(w, http.StatusOK, page)
}

func (s *Server) explain(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	for _, field := range []string{"from", "to"} {
		if q.Get(field) == "" {
			fail(w, http.StatusBadRequest, "invalid", field, field+": the name of an endpoint is missing")
			return
		}
	}
	x, err := lookingglass.Explain(s.Engine, q.Get("from"), q.Get("to"), q.Get("nlri"))
	if err != nil {
		fail(w, http.StatusNotFound, "not-found", "", err.Error())
		return
	}
	routes, cut, err := fitting(min(len(x.Routes), routeLimit), func(i int) lookingglass.RouteExplanation { return x.Routes[i] })
	if err != nil {
		s.failWith(w, err)
		return
	}
	cut = cut || len(x.Routes) > routeLimit
	x.Routes = nil
	reply(w, http.StatusOK, struct {
		*lookingglass.Explanation
		Routes    []json.RawMessage `json:"routes"`
		Truncated bool              `json:"truncated"`
	}{x, routes, cut})
}
