package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// bird is BIRD 2. An import filter per PE marks routes with their pool; an export filter per PE takes the routes of the
// PE's pool and sets the PE's route target. A change rewrites two filters of one PE and reconfigures; BIRD reloads that
// PE's channel alone, by route refresh and by a walk through the table. (Filters that list a pool's route targets would
// have to change for all members, with a walk for each.) Two functions and a template hold the common parts, because
// BIRD reads and compares its whole configuration each time, so that a short one is faster.
type bird struct {
	p      *Process
	config string
	w      *World
	in     *bufio.Reader
	conn   net.Conn
	binary string
}

func startBird(c Cell, w *World, dir string) (Driver, error) {
	b := &bird{config: dir + "/bird.conf", w: w, binary: c.Tools.Bird}
	if err := b.configure(); err != nil {
		return nil, err
	}
	p, err := startProcess(dir, c.Tools.Bird, "-f", "-c", b.config, "-s", dir+"/bird.ctl", "-P", dir+"/bird.pid")
	if err != nil {
		return nil, err
	}
	b.p = p
	err = patiently(p, func() (err error) {
		b.conn, err = net.Dial("unix", dir+"/bird.ctl")
		return err
	})
	if err == nil {
		b.in = bufio.NewReader(b.conn)
		_, err = b.reply()
	}
	if err != nil {
		p.stop()
		return nil, err
	}
	return b, nil
}

// configure writes the configuration for the present state of the world.
func (b *bird) configure() error {
	var t strings.Builder
	fmt.Fprintf(&t, `router id 10.255.0.1;
log stderr { warning, error, fatal, bug };
protocol device { scan time 3600; }
vpn4 table sites;
function in_pool(int pool) {
  bgp_community.empty;
  bgp_community.add((1,pool));
  return true;
}
function for_site(int pool; int site) {
  if (1,pool) !~ bgp_community then return false;
  bgp_community.empty;
  bgp_ext_community.empty;
  bgp_ext_community.add((rt,%[2]d,site));
  return true;
}
template bgp emulated {
  local %[1]s as %[2]d;
  multihop; passive; rr client; rr cluster id 10.255.0.1;
  connect delay time 1; error wait time 1, 1; hold time 240;
  vpn4 mpls { table sites; next hop keep; import none; export none; };
}
`, server, asn)
	for i, pool := range b.w.pool {
		fmt.Fprintf(&t, `protocol bgp site%[1]d from emulated {
  neighbor %[2]s as %[3]d;
  vpn4 mpls { import where in_pool(%[4]d); export where for_site(%[4]d, %[5]d); };
}
`, i, address(i), asn, pool, i+1)
	}
	return os.WriteFile(b.config, []byte(t.String()), 0o600)
}

func (b *bird) process() *Process { return b.p }
func (b *bird) version() string   { return output(b.binary, "--version") }

func (b *bird) move(int, int, int) error {
	if err := b.configure(); err != nil {
		return err
	}
	reply, err := b.command("configure")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(reply, "0003") && !strings.HasPrefix(reply, "0004") {
		return fmt.Errorf("BIRD refuses its configuration: %s", reply)
	}
	// BIRD sleeps up to 3 s although it has work to do; queries keep it awake.
	for range 100 {
		if _, err := b.command("show status"); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

func (b *bird) command(line string) (string, error) {
	if _, err := fmt.Fprintln(b.conn, line); err != nil {
		return "", err
	}
	return b.reply()
}

// reply reads lines until one has a code and a space, and returns that line.
func (b *bird) reply() (string, error) {
	_ = b.conn.SetReadDeadline(time.Now().Add(time.Minute))
	for {
		line, err := b.in.ReadString('\n')
		if err != nil {
			return "", err
		}
		final := len(line) > 4 && line[0] >= '0' && line[0] <= '9' && line[4] == ' '
		if final && !strings.HasPrefix(line, "0002") { // 0002: BIRD reads the configuration; another line follows
			return strings.TrimSpace(line), nil
		}
	}
}
