package interop

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vishvananda/netns"
)

// must runs a command and fails the test if it does not succeed.
func must(t *testing.T, command string) string {
	t.Helper()
	words := strings.Fields(command)
	out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

var namespaces atomic.Int32

// namespace makes a network namespace that lasts until the test ends.
func namespace(t *testing.T, name string) string {
	t.Helper()
	name = fmt.Sprintf("weft-interop-%d-%s%d", os.Getpid(), name, namespaces.Add(1))
	must(t, "ip netns add "+name)
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", name).Run() })
	must(t, "ip -n "+name+" link set lo up")
	return name
}

// within returns a client that makes its connections in a network namespace.
func within(ns string) *http.Client {
	return &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
			return dialIn(ns, address)
		},
	}}
}

// dialIn connects from within a network namespace. A socket belongs to the namespace of the thread that makes it; the
// thread ends after that.
func dialIn(ns, address string) (net.Conn, error) { return dialFrom(ns, "", address) }

// dialFrom does the same as dialIn, from one of several addresses.
func dialFrom(ns, local, address string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		handle, err := netns.GetFromName(ns)
		if err == nil {
			defer handle.Close()
			err = netns.Set(handle)
		}
		var conn net.Conn
		if err == nil {
			dialer := net.Dialer{}
			if local != "" {
				dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(local)}
			}
			conn, err = dialer.Dial("tcp", address)
		}
		done <- result{conn, err}
	}()
	r := <-done
	return r.conn, r.err
}
