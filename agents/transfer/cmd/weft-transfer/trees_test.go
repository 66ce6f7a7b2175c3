package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"weft/agents/transfer/internal/ends"
	"weft/agents/transfer/internal/stream"
)

// container is a session that carries the directory "upper" from one cloudlet to the other.
type container struct {
	*move
	sent, received chan error
}

func newContainer(t *testing.T) *container {
	t.Helper()
	c := &container{newMove(t, newCloudlet(t), newCloudlet(t)), make(chan error, 1), make(chan error, 1)}
	c.write("upper/etc/a", strings.Repeat("a", 10_000))
	return c
}

func (c *container) write(name, content string) {
	c.t.Helper()
	path := c.from.path(name)
	if err := os.MkdirAll(path[:strings.LastIndex(path, "/")], 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// begin starts both ends, and returns when orders can be given.
func (c *container) begin() {
	c.t.Helper()
	go func() { c.received <- c.trees(c.to, receive, "--listen") }()
	go func() {
		err := c.trees(c.from, send, "--to")
		for began := time.Now(); err != nil && strings.Contains(err.Error(), "connection refused") && time.Since(began) < limit; {
			time.Sleep(5 * time.Millisecond) // the other end does not listen yet
			err = c.trees(c.from, send, "--to")
		}
		c.sent <- err
	}()
	for began := time.Now(); time.Since(began) < limit; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(c.from.path("orders")); err == nil {
			return
		}
	}
	c.t.Fatal("no orders are taken")
}

func (c *container) trees(at *cloudlet, as verb, place string) error {
	options, err := parse(append([]string{
		string(as), place, c.place, "--move", "m1", "--mirror", at.path("mirror"), "--report", at.path("report"),
		"--qemu", at.path("orders"), "--trees", "upper,memory",
	}, c.args...), io.Discard)
	if err != nil {
		return err
	}
	options.folder = at.folder
	ctx, cancel := context.WithTimeout(c.t.Context(), limit)
	defer cancel()
	return run(ctx, options)
}

// order returns the answer to an order.
func (c *container) order(text string) string {
	c.t.Helper()
	conn, err := net.Dial("unix", c.from.path("orders"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintln(conn, text)
	answer, _ := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(answer)
}

func (c *container) arrived(name, content string) {
	c.t.Helper()
	found, err := os.ReadFile(c.to.path(name))
	if err != nil || string(found) != content {
		c.t.Errorf("%s has %d bytes: %v", name, len(found), err)
	}
}

func TestTreesGoInRoundsUntilTheCallerEndsThem(t *testing.T) {
	c := newContainer(t)
	c.begin()
	if answer := c.order(`{"trees":["upper"]}`); answer != `{"round":1}` {
		t.Fatal(answer)
	}
	c.arrived("upper/etc/a", strings.Repeat("a", 10_000))
	c.write("upper/etc/b", "b")
	c.write("memory/pages", strings.Repeat("a", 10_000)) // which the other end has
	if answer := c.order(`{"trees":["upper","memory"],"last":true}`); answer != `{"round":2}` {
		t.Fatal(answer)
	}
	c.arrived("upper/etc/b", "b")
	c.arrived("memory/pages", strings.Repeat("a", 10_000))
	c.arrived("complete", "")
	if answer := c.order(`{"trees":["etc"]}`); !strings.Contains(answer, "is not one of upper, memory") {
		t.Error(answer)
	}
	if answer := c.order(""); answer != "" {
		t.Error(answer)
	}
	if sent, received := <-c.sent, <-c.received; sent != nil || received != nil {
		t.Fatal(sent, received)
	}
	for _, end := range []*cloudlet{c.from, c.to} {
		if status := end.status(); status.Phase != ends.Ended || status.Pages["copy"] < 2 {
			t.Errorf("%+v", status)
		}
	}
}

func TestOnTheWayHomeOnlyWhatHasChangedGoes(t *testing.T) {
	const pages = 200
	c := newContainer(t)
	c.args = append(c.args, "--keep")
	big := string(noise(pages*stream.PageSize, 1))
	c.write("upper/big", big)
	c.write("memory/pages", string(noise(pages*stream.PageSize, 2)))
	c.there()
	out := c.from.status().Wire
	c.from, c.to = c.to, c.from
	c.write("upper/aaa", string(noise(3*stream.PageSize, 3))) // before all others: these keep their places all the same
	changed := big[:stream.PageSize/2] + "x" + big[stream.PageSize/2+1:]
	c.write("upper/big", changed)
	c.there()
	c.arrived("upper/big", changed)
	home := c.from.status()
	if !home.Kept || home.Pages["same"] < 2*pages-1 || home.Pages["delta"] != 1 || home.Wire > out/20 {
		t.Errorf("%d bytes home, and %d there: %+v", home.Wire, out, home)
	}
	if err := os.WriteFile(c.from.path("mirror.places"), []byte("not what it was"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.from, c.to = c.to, c.from
	c.write("upper/aaa", "shorter")
	c.there()
	c.arrived("upper/aaa", "shorter")
	c.arrived("upper/big", changed)
}

// there lets the trees go in one round.
func (c *container) there() {
	c.t.Helper()
	c.begin()
	if answer := c.order(`{"trees":["upper","memory"],"last":true}`); answer != `{"round":1}` {
		c.t.Fatal(answer)
	}
	_ = c.order("")
	if sent, received := <-c.sent, <-c.received; sent != nil || received != nil {
		c.t.Fatal(sent, received)
	}
}

// noise returns bytes that no compression makes shorter.
func noise(size int, seed uint64) []byte {
	from, made := rand.NewChaCha8([32]byte{byte(seed)}), make([]byte, size)
	_, _ = from.Read(made) // never fails
	return made
}

func TestARoundThatCannotBeUnpackedEndsTheSessionWithItsReason(t *testing.T) {
	c := newContainer(t)
	if err := os.WriteFile(c.to.path("upper"), nil, 0o600); err != nil { // and not a directory
		t.Fatal(err)
	}
	if err := os.Symlink("/", c.to.path("memory")); err != nil {
		t.Fatal(err)
	}
	c.write("memory/x", "x")
	time.Sleep(1500 * time.Millisecond) // so that no file has just changed
	c.begin()
	if answer := c.order(`{"trees":["upper","memory"]}`); answer != `{"round":1}` {
		t.Errorf("what is in the way is removed: %s", answer)
	}
	c.arrived("memory/x", "x")
	if _, err := os.Stat("/x"); err == nil {
		t.Error("a link in the way was followed")
	}
	if err := os.Remove(c.to.path("upper/etc/a")); err != nil {
		t.Fatal(err)
	}
	if answer := c.order(`{"trees":["upper"]}`); !strings.Contains(answer, "the session has ended") {
		t.Error(answer)
	}
	for end, err := range map[string]error{"source": <-c.sent, "destination": <-c.received} {
		if err == nil || !strings.Contains(err.Error(), `round 2: \"upper/etc/a\"`) && !strings.Contains(err.Error(), `round 2: "upper/etc/a"`) {
			t.Errorf("the %s says %v", end, err)
		}
	}
}

func TestAnAnswerWithoutAnEndIsAnError(t *testing.T) {
	c := newContainer(t)
	ours, its, err := pair()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	go func() {
		_, _ = its.Write(make([]byte, 1<<20)) // a hostile destination's return path
		_ = its.Close()
	}()
	listener, err := listenUnix(c.from.path("orders"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	options := &options{trees: []string{"upper"}}
	go (&end{options: options, report: ends.NewReport("m1")}).order(listener, ours)
	if answer := c.order(`{"trees":["upper"]}`); !strings.Contains(answer, "more than 4096 bytes") {
		t.Error(answer)
	}
}
