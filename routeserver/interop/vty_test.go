package interop

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// startFRR runs one of FRR's daemons.
func startFRR(t *testing.T, ns, dir, daemon string, args ...string) *process {
	t.Helper()
	// The daemon gets its own /var/tmp, in the mount namespace of ip netns exec.
	words := []string{"netns", "exec", ns, "sh", "-c", `mount --bind "$0" /var/tmp && exec "$@"`, dir, frrPrograms + daemon,
		"-i", filepath.Join(dir, daemon+".pid"), "--vty_socket", dir, "-u", "frr", "-g", "frr"}
	_ = os.Remove(filepath.Join(dir, daemon+".vty"))
	p := spawn(t, "ip", append(words, args...)...)
	until(t, daemon, func() bool { _, err := vty(dir, daemon, "show version"); return err == nil })
	return p
}

// vty speaks the protocol of vtysh: a zero byte ends a command; three zero bytes and a status end a reply.
func vty(dir, daemon string, lines ...string) (reply string, err error) {
	conn, err := net.Dial("unix", filepath.Join(dir, daemon+".vty"))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	for _, line := range append([]string{"enable"}, lines...) {
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		if _, err := conn.Write(append([]byte(line), 0)); err != nil {
			return "", err
		}
		var text []byte
		buf := make([]byte, 8192)
		for len(text) < 4 || !bytes.Equal(text[len(text)-4:len(text)-1], []byte{0, 0, 0}) {
			n, err := conn.Read(buf)
			if err != nil {
				return "", err
			}
			text = append(text, buf[:n]...)
		}
		status := text[len(text)-1]
		reply = string(bytes.Trim(text[:len(text)-4], "\x00"))
		if status != 0 && status != 4 { // CMD_SUCCESS, CMD_SUCCESS_DAEMON
			return "", fmt.Errorf("FRR on %q: %s (%d)", line, strings.TrimSpace(reply), status)
		}
	}
	return reply, nil
}
