package interop

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/ruleset"
)

// pmbmpd is pmacct's BMP collector, which writes every message that it understands to a file.
type pmbmpd struct {
	t       *testing.T
	address string
	file    string
}

func startPmbmpd(t *testing.T, address string) *pmbmpd {
	t.Helper()
	binary, err := exec.LookPath("pmbmpd")
	if err != nil {
		t.Skip("pmacct is not installed (pmbmpd)")
	}
	dir := t.TempDir()
	p := &pmbmpd{t, address, filepath.Join(dir, "messages")}
	host, port, _ := net.SplitHostPort(address)
	config, log := filepath.Join(dir, "pmbmpd.conf"), filepath.Join(dir, "log")
	text := fmt.Sprintf("bmp_daemon_ip: %s\nbmp_daemon_port: %s\nbmp_daemon_msglog_file: %s\nbmp_daemon_msglog_output: json\nlogfile: %s\n", host, port, p.file, log)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	spawn(t, binary, "-f", config)
	t.Cleanup(func() {
		if t.Failed() {
			said, _ := os.ReadFile(log)
			heard, _ := os.ReadFile(p.file)
			t.Logf("pmbmpd said:\n%s\nand heard:\n%s", said, heard)
		}
	})
	return p
}

// messages returns the objects that it has written so far: one per peer event, route or statistic.
func (p *pmbmpd) messages() (list []map[string]any) {
	p.t.Helper()
	file, err := os.Open(p.file)
	if err != nil {
		return nil // nothing yet
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		m := map[string]any{}
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			return list // an incomplete line
		}
		if label, renamed := m["mpls_label"]; renamed { // as pmacct 1.7.8 calls it
			m["label"] = label
		}
		list = append(list, m)
	}
	return list
}

// has waits for a message with these fields, as text.
func (p *pmbmpd) has(what string, fields map[string]string) map[string]any {
	p.t.Helper()
	var found map[string]any
	until(p.t, what, func() bool {
		for _, m := range slices.Backward(p.messages()) {
			fits := true
			for name, value := range fields {
				fits = fits && fmt.Sprint(m[name]) == value
			}
			if fits {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// vacant returns an address on which nobody listens.
func vacant(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.74.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestPmbmpd checks that a real collector gets the routes that PEs announce, and those that each was sent with its own
// RT.
func TestPmbmpd(t *testing.T) {
	t.Parallel()
	server, host, collector := vacant(t), vacant(t), vacant(t)
	p := startPmbmpd(t, collector)
	args := append(flags(t, server, host), "--bmp", collector, "--bmp-statistics", "1s")
	spawn(t, program(t, routeServerCommand), args...)
	c := &control{t, "http://" + host, http.DefaultClient}
	d := &ruleset.Document{Generation: 1, Vcps: []ruleset.Vcp{{Name: "pool", Members: []string{"vrf1", "vrf2"}}}}
	var pes []*petest.PE
	for i := range 2 {
		name, rt := fmt.Sprintf("pe%d", i+1), fmt.Sprintf("65000:%d", i+1)
		d.Peers = append(d.Peers, ruleset.Peer{Name: name, Address: fmt.Sprintf("127.0.74.%d", i+11), ASN: 65000})
		d.Endpoints = append(d.Endpoints, ruleset.Endpoint{Name: fmt.Sprintf("vrf%d", i+1), Peer: name, Family: "vpnv4", RT: rt, RD: rt})
	}
	c.replace(d)
	until(t, "BGP", func() bool {
		conn, err := net.Dial("tcp", server)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	for _, peer := range d.Peers {
		pes = append(pes, petest.Dial(t, petest.Options{Local: peer.Address, Remote: server, Families: []bgp.Family{bgp.RF_IPv4_VPN}}))
	}
	nlri, err := bgp.NewLabeledVPNIPAddrPrefix(netip.MustParsePrefix("10.1.0.0/20"), *bgp.NewMPLSLabelStack(100), bgp.NewRouteDistinguisherTwoOctetAS(65000, 1))
	if err != nil {
		t.Fatal(err)
	}
	pes[0].Send(petest.Announcement(t, bgp.RF_IPv4_VPN, []bgp.NLRI{nlri}, []string{"65000:1"}))
	pes[1].Has(map[string]string{"65000:1:10.1.0.0/20": "65000:2"})

	p.has("the Initiation", map[string]string{"bmp_msg_type": "init", "bmp_init_info_sysname": "rs1"})
	_, port, _ := net.SplitHostPort(server)
	for _, address := range []string{"127.0.74.11", "127.0.74.12"} {
		p.has("Peer Up", map[string]string{
			"bmp_msg_type": "peer_up", "peer_ip": address, "bgp_id": address, "peer_asn": "65000", "local_ip": "127.0.74.1", "local_port": port,
		})
	}
	route := func(address, kind, side, post string) map[string]string {
		return map[string]string{
			"bmp_msg_type": "route_monitor", "peer_ip": address, "log_type": kind, side: "1", "is_post": post, "afi": "1", "safi": "128",
			"ip_prefix": "10.1.0.0/20", "rd": "0:65000:1", "label": "100",
		}
	}
	// pmbmpd does not know another extended community of the announcement.
	if m := p.has("the route as it was announced", route("127.0.74.11", "update", "is_in", "0")); m["ecomms"] != "RT:65000:1 ?" {
		t.Errorf("announced with %v", m["ecomms"])
	}
	if m := p.has("the route as it was sent", route("127.0.74.12", "update", "is_out", "1")); m["ecomms"] != "RT:65000:2 ?" {
		t.Errorf("sent with %v", m["ecomms"])
	}
	p.has("a statistic", map[string]string{"bmp_msg_type": "stats", "peer_ip": "127.0.74.12", "counter_type": "15", "counter_value": "1"})
	c.change(1, ruleset.Leave, "pool", "vrf2")
	p.has("the withdrawal", route("127.0.74.12", "withdraw", "is_out", "1"))
	pes[0].Send(bgp.NewBGPNotificationMessage(bgp.BGP_ERROR_CEASE, bgp.BGP_ERROR_SUB_ADMINISTRATIVE_SHUTDOWN, nil))
	p.has("Peer Down", map[string]string{"bmp_msg_type": "peer_down", "peer_ip": "127.0.74.11", "reason_type": "3"})
}
