package interop

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weft/routeserver/ruleset"
)

// must runs a command that has to succeed.
func must(t *testing.T, command string) string {
	t.Helper()
	words := strings.Fields(command)
	out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

// namespace makes a network namespace that goes away with the test.
func namespace(t *testing.T, name string) string {
	t.Helper()
	name = fmt.Sprintf("weft-rst-%s-%d", name, os.Getpid()%10000)
	must(t, "ip netns add "+name)
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", name).Run() })
	must(t, "ip -n "+name+" link set lo up")
	return name
}

const frrConfig = `
router bgp 65000
 bgp router-id 10.98.0.%[1]d
 no bgp default ipv4-unicast
 neighbor 10.98.0.254 remote-as 65000
 neighbor 10.98.0.254 timers connect 1
 address-family l2vpn evpn
  neighbor 10.98.0.254 activate
  advertise-all-vni
  vni 100
   rd 65000:%[1]d
   route-target import 65000:%[1]d
   route-target export 65000:%[1]d
  exit-vni
 exit-address-family
`

// startFRR makes a PE with one VXLAN and lets an FRR that knows nothing but its site route target run on it.
func startFRR(t *testing.T, server string, i int) string {
	t.Helper()
	ns := namespace(t, fmt.Sprintf("pe%d", i))
	must(t, fmt.Sprintf("ip link add u%d netns %s type veth peer name eth0 netns %s", i, server, ns))
	must(t, fmt.Sprintf("ip -n %s link set u%d master bru up", server, i))
	must(t, fmt.Sprintf("ip -n %s addr add 10.98.0.%d/24 dev eth0", ns, i))
	must(t, "ip -n "+ns+" link set eth0 up")
	must(t, "ip -n "+ns+" link add br100 type bridge")
	must(t, "ip -n "+ns+" link set br100 up")
	must(t, fmt.Sprintf("ip -n %s link add vx100 type vxlan id 100 local 10.98.0.%d dstport 4789 nolearning", ns, i))
	must(t, "ip -n "+ns+" link set vx100 master br100 up")
	dir, err := os.MkdirTemp("/tmp", "weft-rst-frr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, "chmod 777 "+dir)
	config := filepath.Join(dir, "bgpd.conf")
	if err := os.WriteFile(config, []byte(fmt.Sprintf(frrConfig, i)), 0o644); err != nil {
		t.Fatal(err)
	}
	// FRR leaves directories in /var/tmp: its daemons get one of their own, in the mount namespace of ip netns exec.
	common := []string{"netns", "exec", ns, "sh", "-c", `mount --bind "$0" /var/tmp && exec "$@"`, dir}
	for _, daemon := range []string{"zebra", "bgpd"} {
		file := "/dev/null"
		if daemon == "bgpd" {
			file = config
		}
		run(t, "ip", append(common[:len(common):len(common)], "/usr/lib/frr/"+daemon, "-f", file, "-i", filepath.Join(dir, daemon+".pid"),
			"-z", filepath.Join(dir, "zserv.api"), "--vty_socket", dir, "-u", "frr", "-g", "frr")...)
		until(t, daemon, func() bool { _, err := os.Stat(filepath.Join(dir, daemon+".vty")); return err == nil })
	}
	return ns
}

func TestFRR(t *testing.T) {
	for _, file := range []string{"/usr/lib/frr/bgpd", "/usr/lib/frr/zebra"} {
		if _, err := os.Stat(file); err != nil {
			t.Skipf("FRR is not installed (%s)", file)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("network namespaces need root")
	}
	server := namespace(t, "rs")
	must(t, "ip -n "+server+" link add bru type bridge")
	must(t, "ip -n "+server+" addr add 10.98.0.254/24 dev bru")
	must(t, "ip -n "+server+" link set bru up")
	binary := build(t, "weft/routeserver/cmd/weft-routeserver")
	run(t, "ip", append([]string{"netns", "exec", server, binary}, flags(t, "10.98.0.254:179", "127.0.0.1:9179")...)...)
	c := &control{t, "http://127.0.0.1:9179", within(server)}
	d := &ruleset.Document{Generation: 1, Vcps: []ruleset.Vcp{{Name: "pool", Members: []string{"lan1"}}}}
	for _, i := range []int{1, 2} {
		name, rt := fmt.Sprintf("pe%d", i), fmt.Sprintf("65000:%d", i)
		d.Peers = append(d.Peers, ruleset.Peer{Name: name, Address: fmt.Sprintf("10.98.0.%d", i), ASN: 65000})
		d.Endpoints = append(d.Endpoints, ruleset.Endpoint{Name: fmt.Sprintf("lan%d", i), Peer: name, Family: "l2vpn-evpn", RT: rt, RD: rt})
	}
	c.replace(d)
	pes := []string{startFRR(t, server, 1), startFRR(t, server, 2)}
	until(t, "two sessions", func() bool { return c.established() == 2 })
	routes := func(table string) int {
		var list struct{ Routes []struct{ Endpoint string } }
		if err := c.call("GET", "/v1/routes?table="+table, nil, &list); err != nil {
			t.Fatal(err)
		}
		return len(list.Routes)
	}
	until(t, "a type 3 route of each", func() bool { return routes("adj-in") == 2 && routes("quarantine") == 0 })
	floods := func(i int) bool { // does the kernel of PE i flood to the other?
		return strings.Contains(must(t, "bridge -n "+pes[i]+" fdb show dev vx100"), fmt.Sprintf("00:00:00:00:00:00 dst 10.98.0.%d", 2-i))
	}
	if floods(0) || floods(1) {
		t.Fatal("the PEs know each other before they share a pool")
	}
	if r := c.change(1, ruleset.Join, "pool", "lan2"); r.Announced != 2 {
		t.Errorf("receipt of the join %+v", r)
	}
	until(t, "both to flood to each other", func() bool { return floods(0) && floods(1) })
	// A host on the LAN: its ARP request is what the bridge learns its MAC from.
	must(t, "ip -n "+pes[0]+" link add ac0 type veth peer name ac1 address 02:00:00:00:00:11")
	must(t, "ip -n "+pes[0]+" link set ac0 master br100 up")
	must(t, "ip -n "+pes[0]+" addr add 192.168.5.1/24 dev ac1")
	must(t, "ip -n "+pes[0]+" link set ac1 up")
	_ = exec.Command("ip", "netns", "exec", pes[0], "ping", "-c1", "-W1", "192.168.5.9").Run() // nobody answers
	until(t, "the MAC at the other PE", func() bool {
		return strings.Contains(must(t, "bridge -n "+pes[1]+" fdb show dev vx100"), "02:00:00:00:00:11 dst 10.98.0.1")
	})
	if r := c.change(2, ruleset.Leave, "pool", "lan1"); r.Withdrawn != 3 {
		t.Errorf("receipt of the leave %+v", r)
	}
	until(t, "nobody to flood any more", func() bool { return !floods(0) && !floods(1) })
}

// within is a client whose connections are made in a network namespace, by a relay that runs there.
func within(ns string) *http.Client {
	return &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return dialIn(ns, address)
		},
	}}
}
