package interop

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"weft/routeserver/internal/wire"
)

func (f *frrPE) learned(family wire.Family) table {
	f.t.Helper()
	switch {
	case family == wire.EVPN:
		return f.evpn()
	case family.Flow():
		return f.filters(family)
	}
	return f.vpn(family)
}

var (
	frrRD     = regexp.MustCompile(`^Route Distinguisher: (\S+)`)
	frrPrefix = regexp.MustCompile(`^.[*=> drShsR]{1,2}(i?) {0,2}([0-9a-f.:]+/\d+)`)
	frrEC     = regexp.MustCompile(`EC\{([^}]*)\}`)
	frrRT     = regexp.MustCompile(`\d+:\d+`)
	frrWaits  = regexp.MustCompile(`(?m)^.[* ]u`)
	frrFilter = regexp.MustCompile(`Destination Address (\S+?)(/off 0)?$`)
)

// vpn reads the text form of the table, because the JSON form has no route targets.
func (f *frrPE) vpn(family wire.Family) table {
	routes := table{}
	var rd, name string
	for _, line := range strings.Split(f.selected("show bgp "+frrFamilies[family]), "\n") {
		if m := frrRD.FindStringSubmatch(line); m != nil {
			rd = m[1]
		} else if m := frrPrefix.FindStringSubmatch(line); m != nil {
			name = ""
			if m[1] == "i" || f.asn != 65000 && rd != target(f.site(family)) { // the others are its own routes
				name = rd + " " + m[2]
				routes[name] = ""
			}
		} else if m := frrEC.FindStringSubmatch(line); m != nil && name != "" {
			routes[name] = strings.Join(frrRT.FindAllString(m[1], -1), " ")
		}
	}
	return routes
}

// selected returns a table as text, after FRR has selected the best one of new routes. Since release 10 it shows them as
// unsorted until then; one that stays so counts as not learned.
func (f *frrPE) selected(command string) string {
	f.t.Helper()
	end := time.Now().Add(2 * time.Second)
	for {
		text := f.tell(command)
		if !frrWaits.MatchString(text) || time.Now().After(end) {
			return text
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (f *frrPE) evpn() table {
	f.t.Helper()
	var rds map[string]json.RawMessage
	if err := json.Unmarshal([]byte(f.tell("show bgp l2vpn evpn route detail json")), &rds); err != nil {
		f.t.Fatal(err)
	}
	routes := table{}
	for rd, text := range rds {
		var list map[string]json.RawMessage
		if json.Unmarshal(text, &list) != nil {
			continue // a number of routes
		}
		for prefix, text := range list {
			var r struct {
				Paths [][]struct {
					ExtendedCommunity struct{ String string }
					Peer              struct{ PeerID string }
				}
			}
			if json.Unmarshal(text, &r) != nil || len(r.Paths) == 0 || r.Paths[0][0].Peer.PeerID != f.server() {
				continue
			}
			var rts []string
			for _, word := range strings.Fields(r.Paths[0][0].ExtendedCommunity.String) {
				if rt, is := strings.CutPrefix(word, "RT:"); is {
					rts = append(rts, rt)
				}
			}
			routes[rd+" "+evpnName(prefix)] = strings.Join(rts, " ")
		}
	}
	return routes
}

// evpnName removes the parts of a type 1 route that FRR shows beside its key.
func evpnName(prefix string) string {
	if strings.HasPrefix(prefix, "[1]") {
		return strings.Join(strings.SplitAfterN(prefix, "]", 4)[:3], "")
	}
	return prefix
}

func (f *frrPE) filters(family wire.Family) table {
	f.t.Helper()
	routes := table{}
	var name string
	for _, line := range strings.Split(f.tell("show bgp "+frrFamilies[family]+" detail"), "\n") {
		line = strings.TrimSpace(line)
		if m := frrFilter.FindStringSubmatch(line); m != nil {
			name = "to " + m[1]
			routes[name] = ""
		} else if rt := frrRT.FindString(line); rt != "" && name != "" && routes[name] == "" {
			routes[name] = rt
		}
	}
	return routes
}
