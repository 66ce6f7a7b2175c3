package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weft/routeserver/internal/ruleset"
)

// byHand is all that a user configures at a plain FRR: its session and one site route target. PE and VNI are its own.
const byHand = `
router bgp 65000
 bgp router-id 10.97.0.%[1]d
 no bgp default ipv4-unicast
 neighbor 10.97.0.254 remote-as 65000
 neighbor 10.97.0.254 timers connect 1
 address-family l2vpn evpn
  neighbor 10.97.0.254 activate
  advertise-all-vni
  vni 100
   rd 65000:%[1]d
   route-target both 65000:%[1]d
  exit-vni
 exit-address-family
`

// cable connects two namespaces' bridges or interfaces.
func cable(t *testing.T, nsA, a, nsB, b string) {
	t.Helper()
	must(t, fmt.Sprintf("ip link add %s netns %s type veth peer name %s netns %s", a, nsA, b, nsB))
	must(t, "ip -n "+nsA+" link set "+a+" up")
	must(t, "ip -n "+nsB+" link set "+b+" up")
}

// siteByHand makes a PE with a VXLAN VNI in a bridge, a host on its LAN, and FRR's zebra and bgpd. It returns the
// namespaces of the PE and of the host.
func siteByHand(t *testing.T, wan string, i int) (pe, host string) {
	t.Helper()
	pe, host = namespace(t, "pe"), namespace(t, "host")
	cable(t, wan, fmt.Sprintf("u%d", i), pe, "wan")
	must(t, fmt.Sprintf("ip -n %s link set u%d master core", wan, i))
	must(t, fmt.Sprintf("ip -n %s addr add 10.97.0.%d/24 dev wan", pe, i))
	must(t, "ip -n "+pe+" link add lan type bridge")
	must(t, "ip -n "+pe+" link set lan up")
	must(t, fmt.Sprintf("ip -n %s link add vx100 type vxlan id 100 local 10.97.0.%d dstport 4789 nolearning", pe, i))
	must(t, "ip -n "+pe+" link set vx100 master lan up")
	cable(t, pe, "port", host, "eth0")
	must(t, "ip -n "+pe+" link set port master lan")
	must(t, fmt.Sprintf("ip -n %s link set eth0 address 02:00:00:00:00:%02x", host, i))
	must(t, fmt.Sprintf("ip -n %s addr add 192.168.5.%d/24 dev eth0", host, i))
	dir, err := os.MkdirTemp("/tmp", "weft-interop-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	config := filepath.Join(dir, "frr.conf")
	if err := os.WriteFile(config, []byte(fmt.Sprintf(byHand, i)), 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, "chmod 777 "+dir)
	api := filepath.Join(dir, "zserv.api")
	startFRR(t, pe, dir, "zebra", "-f", "/dev/null", "-z", api)
	startFRR(t, pe, dir, "bgpd", "-f", config, "-z", api)
	return pe, host
}

// TestPlainFRRJoinsAPool uses FRRs without any configuration of pools. Their hosts reach each other while their sites
// share one.
func TestPlainFRRJoinsAPool(t *testing.T) {
	t.Parallel()
	frr.here(t)
	if os.Getuid() != 0 {
		t.Skip("network namespaces need root")
	}
	wan := namespace(t, "wan")
	must(t, "ip -n "+wan+" link add core type bridge")
	must(t, "ip -n "+wan+" addr add 10.97.0.254/24 dev core")
	must(t, "ip -n "+wan+" link set core up")
	spawn(t, "ip", append([]string{"netns", "exec", wan, program(t, routeServerCommand)}, flags(t, "10.97.0.254:179", "10.97.0.254:9179")...)...)
	c := &control{t, "http://10.97.0.254:9179", within(wan)}
	d := &ruleset.Document{Generation: 1, Vcps: []ruleset.Vcp{{Name: "pool", Members: []string{"lan1"}}, {Name: "other", Members: []string{"lan3"}}}}
	for i := 1; i <= 3; i++ {
		name, rt := fmt.Sprintf("pe%d", i), target(i)
		d.Peers = append(d.Peers, ruleset.Peer{Name: name, Address: fmt.Sprintf("10.97.0.%d", i), ASN: 65000})
		d.Endpoints = append(d.Endpoints, ruleset.Endpoint{Name: fmt.Sprintf("lan%d", i), Peer: name, Family: "l2vpn-evpn", RT: rt, RD: rt})
	}
	c.replace(d)
	var pes, hosts [4]string
	for i := 1; i <= 3; i++ {
		pes[i], hosts[i] = siteByHand(t, wan, i)
	}
	until(t, "three sessions", func() bool { return c.established() == 3 })
	ping := func(from, to int) bool {
		return exec.Command("ip", "netns", "exec", hosts[from], "ping", "-c1", "-W1", fmt.Sprintf("192.168.5.%d", to)).Run() == nil
	}
	learned := func(at, from int) bool {
		return strings.Contains(must(t, "bridge -n "+pes[at]+" fdb show dev vx100"), fmt.Sprintf("02:00:00:00:00:%02x dst 10.97.0.%d", from, from))
	}
	nobody := func(when string, from int, to ...int) {
		t.Helper()
		for _, to := range to {
			if ping(from, to) {
				t.Fatalf("host %d reaches host %d %s", from, to, when)
			}
		}
	}
	routes := func() int {
		var list struct{ Routes []struct{ Endpoint string } }
		if err := c.call("GET", "/v1/routes?table=adj-in", nil, &list); err != nil {
			t.Fatal(err)
		}
		return len(list.Routes)
	}
	nobody("before they share a pool", 1, 2, 3)
	nobody("before they share a pool", 2, 1)
	until(t, "a type 2 and a type 3 route at least of each site that was heard", func() bool { return routes() >= 5 })

	c.change(1, ruleset.Join, "pool", "lan2")
	until(t, "host 1 to reach host 2", func() bool { return ping(1, 2) })
	until(t, "each MAC at the other PE", func() bool { return learned(1, 2) && learned(2, 1) })
	nobody("from another pool", 3, 1, 2)

	c.change(2, ruleset.Leave, "pool", "lan2")
	until(t, "the MACs to be gone", func() bool { return !learned(1, 2) && !learned(2, 1) })
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		nobody("after it has left the pool", 1, 2)
	}
	nobody("after it has left the pool", 2, 1)
	c.change(3, ruleset.Join, "other", "lan2")
	until(t, "host 3 to reach host 2", func() bool { return ping(3, 2) })
	nobody("whose pool was left", 1, 2)
}
