package interop

import (
	"net"
	"runtime"

	"github.com/vishvananda/netns"
)

// dialIn connects from within a network namespace. A socket belongs to the namespace that its thread was in when it was
// made; the thread is thrown away after that.
func dialIn(ns, address string) (net.Conn, error) {
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
			conn, err = net.Dial("tcp", address)
		}
		done <- result{conn, err}
	}()
	r := <-done
	return r.conn, r.err
}
