package session_test

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/session"
)

// The steps of an exchange: what the PEs do, and what happens to them.

func (x *exchange) send(pe *petest.PE, update *bgp.BGPMessage) {
	pe.Send(update)
	x.sent++
}

func (x *exchange) up(name string) string {
	host := map[string]string{"a": "11", "b": "12", "c": "13"}[name]
	x.had[name], x.read[name], x.said[name] = x.wanted(name), 0, map[string]claim{}
	x.pes[name] = x.dial(x.t, host)
	return name + " comes up"
}

// gone waits until the route server has noticed the end of a session.
func (x *exchange) gone(name string) {
	pe := x.pes[name]
	pe.Closed()
	delete(x.pes, name)
	delete(x.said, name)
	pe.Until("the end of the session", func() bool { return x.server.States()[name].State != session.Established })
}

func (x *exchange) step() string {
	name := exchangePEs[x.r.IntN(len(exchangePEs))]
	pe := x.pes[name]
	if pe == nil {
		return x.up(name)
	}
	i := x.r.IntN(exchangeSites)
	nlri := petest.VPLS(x.t, fmt.Sprintf("65000:%d", i+1), uint16(1+x.r.IntN(2)), 1, 64, uint32(100*(1+x.r.IntN(2))))
	key, _, _ := strings.Cut(nlri.String(), " ")
	e := x.document.Endpoints[i]
	message := petest.Announcement(x.t, bgp.RF_VPLS, []bgp.NLRI{nlri}, []string{e.RT})
	switch n := x.r.IntN(20); {
	case n < 6:
		x.send(pe, message)
		x.said[name][key] = claim{nlri, e.RT}
		return name + " announces " + nlri.String()
	case n < 8:
		for _, key := range slices.Sorted(maps.Keys(x.said[name])) {
			c := x.said[name][key]
			x.send(pe, petest.Withdrawal(x.t, bgp.RF_VPLS, []bgp.NLRI{c.nlri}))
			delete(x.said[name], key)
			return name + " withdraws " + c.nlri.String()
		}
		return "nothing"
	case n == 8:
		data, err := message.Serialize()
		if err != nil {
			x.t.Fatal(err)
		}
		data[bytesIndex(data, []byte{0x40, 1, 1, 0})+3] = 7 // ORIGIN
		pe.Write(data)
		x.sent++
		delete(x.said[name], key)
		return name + " sends a malformed UPDATE for " + nlri.String()
	case n == 9:
		pe.Send(bgp.NewBGPRouteRefreshMessage(bgp.AFI_L2VPN, uint8(x.r.IntN(3)), bgp.SAFI_VPLS))
		pe.Send(bgp.NewBGPRouteRefreshMessage(bgp.AFI_L2VPN, 1, bgp.SAFI_VPLS))
		for _, c := range x.said[name] {
			x.send(pe, petest.Announcement(x.t, bgp.RF_VPLS, []bgp.NLRI{c.nlri}, []string{c.rt}))
		}
		pe.Send(bgp.NewBGPRouteRefreshMessage(bgp.AFI_L2VPN, 2, bgp.SAFI_VPLS))
		x.send(pe, bgp.NewEndOfRib(bgp.RF_VPLS)) // the route server reads it after all of these
		return name + " refreshes"
	case n == 10:
		return x.lose(name)
	case n < 13:
		to := e
		to.Peer, to.RT = exchangePEs[x.r.IntN(len(exchangePEs))], fmt.Sprintf("65000:%d", i+1+10*x.r.IntN(2))
		x.change(x.t, ruleset.Operation{Op: ruleset.SetEndpoint, Endpoint: &to})
		x.document.Endpoints[i] = to
		return fmt.Sprintf("%s moves to %s, %s", to.Name, to.Peer, to.RT)
	}
	return x.membership()
}

// lose ends a session in one of several ways.
func (x *exchange) lose(name string) string {
	pe := x.pes[name]
	switch x.r.IntN(4) {
	case 0:
		pe.Write(append([]byte(strings.Repeat("\xff", 16)), 0, 23, 2, 0, 0, 0, 200)) // inconsistent lengths
	case 1:
		pe.Send(bgp.NewBGPNotificationMessage(6, 4, nil))
	case 2:
		if err := pe.Conn.(*net.TCPConn).SetLinger(0); err != nil { // a reset
			x.t.Fatal(err)
		}
		pe.Conn.Close()
	default:
		pe.Conn.Close()
	}
	x.gone(name)
	return name + " is lost"
}

// membership changes a random batch of joins and leaves.
func (x *exchange) membership() string {
	var ops []ruleset.Operation
	for range 1 + x.r.IntN(3) {
		v, e := &x.document.Vcps[x.r.IntN(len(x.document.Vcps))], x.document.Endpoints[x.r.IntN(exchangeSites)].Name
		op := ruleset.Operation{Op: ruleset.Join, Pool: v.Name, Member: e}
		if slices.Contains(v.Members, e) {
			op.Op = ruleset.Leave
			v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m string) bool { return m == e })
		} else {
			v.Members = append(slices.Clone(v.Members), e)
		}
		ops = append(ops, op)
	}
	x.change(x.t, ops...)
	return fmt.Sprintf("%+v", ops)
}
