package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weft/agents/transfer/internal/ends"
	"weft/agents/transfer/internal/qemutest"
)

const limit = 30 * time.Second

// cloudlet is a folder of one end.
type cloudlet struct {
	t      *testing.T
	folder string
}

func newCloudlet(t *testing.T) *cloudlet { return &cloudlet{t, t.TempDir()} }

func (c *cloudlet) path(name string) string { return filepath.Join(c.folder, name) }

// reference makes a file of a guest's pages, and returns it as an option's value.
func (c *cloudlet) reference(name string, g *qemutest.Guest) string {
	c.t.Helper()
	var all []byte
	for _, page := range g.Pages {
		all = append(all, append(page, make([]byte, 4096-len(page))...)...)
	}
	if err := os.WriteFile(c.path(name), all, 0o600); err != nil {
		c.t.Fatal(err)
	}
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:]) + ":" + c.path(name)
}

func (c *cloudlet) status() ends.Status {
	c.t.Helper()
	text, err := os.ReadFile(c.path("report"))
	if err != nil {
		c.t.Fatal(err)
	}
	var found ends.Status
	if err := json.Unmarshal(text, &found); err != nil {
		c.t.Fatal(err)
	}
	return found
}

// move is one run of both ends.
type move struct {
	t        *testing.T
	from, to *cloudlet
	place    string
	args     []string // of both ends
	sends    []string // of the source's end
	receives []string
	through  func(net.Conn) net.Conn // what becomes of the waiting QEMU's connection
	dies     bool                    // the QEMU that sends does, after the stream
}

func newMove(t *testing.T, from, to *cloudlet) *move {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.77.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return &move{t: t, from: from, to: to, place: listener.Addr().String(), args: []string{"--clear"}}
}

func (m *move) end(c *cloudlet, verb, place string, more ...string) error {
	args := []string{verb, place, m.place, "--move", "m1", "--mirror", c.path("mirror"), "--qemu", c.path(verb + "-qemu"), "--report", c.path("report")}
	options, err := parse(append(append(args, m.args...), more...), io.Discard)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(m.t.Context(), limit)
	defer cancel()
	return run(ctx, options)
}

// outcome is what a move has come to: the stream that arrived, what came back on the return path, and both ends' errors.
type outcome struct {
	stream, returned []byte
	sent, received   error
}

// run passes a stream from end to end. The waiting QEMU answers each byte "?" of it on the return path with a "!".
func (m *move) run(stream []byte) outcome {
	m.t.Helper()
	var o outcome
	received, sent, stored := make(chan error, 1), make(chan error, 1), make(chan []byte, 1)
	waiting, err := net.Listen("unix", m.to.path("receive-qemu"))
	if err != nil {
		m.t.Fatal(err)
	}
	defer waiting.Close()
	go func() { stored <- m.incoming(waiting) }()
	go func() { received <- m.end(m.to, "receive", "--listen", m.receives...) }()
	go func() {
		err := m.end(m.from, "send", "--to", m.sends...)
		for began := time.Now(); err != nil && strings.Contains(err.Error(), "connection refused") && time.Since(began) < limit; {
			time.Sleep(5 * time.Millisecond) // the other end does not listen yet
			err = m.end(m.from, "send", "--to", m.sends...)
		}
		sent <- err
	}()
	qemu := m.outgoing()
	if qemu != nil {
		_, _ = qemu.Write(stream)
		if !m.dies {
			o.returned = make([]byte, bytes.Count(stream, []byte("?")))
			_, _ = io.ReadFull(qemu, o.returned)
		}
		_ = qemu.Close()
	}
	o.sent, o.received = <-sent, <-received
	_ = waiting.Close()
	o.stream = <-stored
	return o
}

// incoming is the waiting QEMU.
func (m *move) incoming(waiting net.Listener) (all []byte) {
	conn, err := waiting.Accept()
	if err != nil {
		return nil
	}
	if m.through != nil {
		conn = m.through(conn)
	}
	defer conn.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := conn.Read(buffer)
		all = append(all, buffer[:n]...)
		if marks := bytes.Count(buffer[:n], []byte("?")); marks > 0 {
			_, _ = conn.Write(bytes.Repeat([]byte("!"), marks))
		}
		if err != nil {
			return all
		}
	}
}

// outgoing returns the connection of the QEMU that sends; nil if its end gives up.
func (m *move) outgoing() net.Conn {
	for began := time.Now(); time.Since(began) < 2*time.Second; time.Sleep(5 * time.Millisecond) {
		if conn, err := net.Dial("unix", m.from.path("send-qemu")); err == nil {
			return conn
		}
	}
	return nil
}

// precopy returns a guest's stream of three rounds, and the guest as it is at the end.
func precopy(pages int, seed uint64) ([]byte, *qemutest.Guest) {
	g := qemutest.NewGuest(pages, seed)
	return append(g.Begin(), rounds(g)...), g
}

// copied returns what a mirror of the guest as a disk sends: all of it, and then what is written meanwhile.
func copied(g *qemutest.Guest) []byte {
	s := append(g.Connect(), g.Store(g.All())...)
	return append(s, g.Store(g.Write(len(g.Pages)/20))...)
}

func rounds(g *qemutest.Guest) []byte {
	s := g.Round(g.All(), false)
	s = append(s, g.Round(g.Write(len(g.Pages)/4), false)...)
	s = append(s, g.Round(g.Write(len(g.Pages)/20), true)...)
	return append(s, g.Device(50<<10)...)
}

func (o outcome) well(t *testing.T, stream []byte) {
	t.Helper()
	if err := errors.Join(o.sent, o.received); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(o.stream, stream) {
		t.Fatalf("%d bytes came of %d, or other ones", len(o.stream), len(stream))
	}
	if string(o.returned) != strings.Repeat("!", len(o.returned)) {
		t.Fatal("other bytes came back")
	}
}

func TestTheStreamArrivesAsItWas(t *testing.T) {
	for _, mirrored := range []string{"1073741824", "4194304", "0"} {
		stream, _ := precopy(1500, 1)
		m := newMove(t, newCloudlet(t), newCloudlet(t))
		m.args = append(m.args, "--mirror-bytes", mirrored)
		m.run(stream).well(t, stream)
		source, destination := m.from.status(), m.to.status()
		if source.Phase != ends.Ended || destination.Phase != ends.Ended || source.Stream != len(stream) || destination.Stream != len(stream) {
			t.Errorf("%+v, %+v", source, destination)
		}
		if source.Wire != destination.Wire || source.Left > len(stream) || mirrored == "1073741824" && source.Pages["delta"] == 0 {
			t.Errorf("of %d bytes %d and %d went over the line: %+v", len(stream), source.Wire, destination.Wire, source)
		}
		if _, err := os.Stat(m.to.path("mirror")); err == nil {
			t.Error("the mirror, which is the guest's memory, is left behind")
		}
	}
}

func TestWithoutAnyTechniqueAllOfItGoesOverTheLine(t *testing.T) {
	stream, _ := precopy(1500, 1)
	most := 0
	for _, left := range []string{"known,deltas,compression", "known", "deltas", "compression"} {
		m := newMove(t, newCloudlet(t), newCloudlet(t))
		m.sends = append(m.sends, "--without", left)
		m.run(stream).well(t, stream)
		if wire := m.from.status().Wire; most == 0 {
			most = wire
		} else if wire >= most {
			t.Errorf("without %s %d bytes, without any %d", left, wire, most)
		}
	}
	if most < 3*len(stream)/4 { // zero pages cost nothing in any case
		t.Errorf("without any technique %d bytes of %d", most, len(stream))
	}
}

func TestTheWayHomeCostsWhatHasChanged(t *testing.T) {
	one, other := newCloudlet(t), newCloudlet(t)
	stream, g := precopy(1500, 1)
	out := newMove(t, one, other)
	out.args = append(out.args, "--keep")
	out.run(stream).well(t, stream)
	there := one.status().Left
	stream = append(g.Begin(), rounds(g)...)
	home := newMove(t, other, one)
	home.args = append(home.args, "--keep")
	home.run(stream).well(t, stream)
	status := other.status()
	if !status.Kept || status.Pages["same"] < 700 || status.Left > there/2 {
		t.Errorf("out %d bytes, home %d: %+v", there, status.Left, status)
	}
}

func TestAKeptMirrorOfAnotherStateIsNotUsed(t *testing.T) {
	one, other := newCloudlet(t), newCloudlet(t)
	stream, _ := precopy(1000, 1)
	for _, seed := range []uint64{2, 1} { // of the first one the source forgets what it kept
		stream, _ = precopy(1000, seed)
		out := newMove(t, one, other)
		out.args = append(out.args, "--keep")
		out.run(stream).well(t, stream)
		if seed == 2 {
			if err := os.Rename(one.path("mirror.kept"), one.path("old")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Rename(one.path("old"), one.path("mirror.kept")); err != nil {
		t.Fatal(err)
	}
	home := newMove(t, other, one)
	home.run(stream).well(t, stream)
	if other.status().Kept {
		t.Error("it is used")
	}
}

func TestAKeptMirrorThatIsCorruptCostsBytesOnly(t *testing.T) {
	one, other := newCloudlet(t), newCloudlet(t)
	stream, _ := precopy(1000, 1)
	out := newMove(t, one, other)
	out.args = append(out.args, "--keep")
	out.run(stream).well(t, stream)
	kept, err := os.ReadFile(one.path("mirror"))
	if err != nil {
		t.Fatal(err)
	}
	for at := 4096; at < len(kept); at += 40960 {
		kept[at]++
	}
	if err := os.WriteFile(one.path("mirror"), kept, 0o600); err != nil {
		t.Fatal(err)
	}
	home := newMove(t, other, one)
	home.run(stream).well(t, stream)
	if status := other.status(); status.Wrong == 0 || !status.Kept {
		t.Errorf("%+v", status)
	}
}

func TestPagesOfAReferenceAreNotSent(t *testing.T) {
	stream, g := precopy(1200, 1)
	m := newMove(t, newCloudlet(t), newCloudlet(t))
	m.sends = []string{"--reference", m.from.reference("base", g), "--hashes", m.from.path("hashes")}
	m.receives = []string{"--reference", m.to.reference("image", g)}
	m.run(stream).well(t, stream)
	if status := m.from.status(); status.References != 1 || status.Pages["copy"] < 400 {
		t.Errorf("%+v", status)
	}
}

func TestTheStreamArrivesAlsoWithoutAWholeMirror(t *testing.T) {
	stream, _ := precopy(6000, 1)
	m := newMove(t, newCloudlet(t), newCloudlet(t))
	m.sends = []string{"--sparing"}
	m.run(stream).well(t, stream)
	if status := m.from.status(); status.Wrong != 0 || status.Pages["literal"] == 0 {
		t.Errorf("%+v", status)
	}
}

func TestHashesAreKeptBeforeAMove(t *testing.T) {
	c := newCloudlet(t)
	right := c.reference("base", qemutest.NewGuest(100, 1))
	for range 2 {
		if err := hashReferences(&options{hashes: c.path("hashes"), references: []reference{{c.path("base"), right[:64]}}}); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(filepath.Join(c.path("hashes"), right[:64]+".hashes")); err != nil || info.Size() != 800 {
		t.Errorf("%v, %v", info, err)
	}
	err := hashReferences(&options{hashes: c.path("hashes"), references: []reference{{c.path("nothing"), right[:64]}}})
	if err == nil || !strings.Contains(err.Error(), "are not hashed: open") {
		t.Error(err)
	}
}

func TestAReferenceThatIsOtherThanItsDigestCostsBytesOnly(t *testing.T) {
	stream, g := precopy(1200, 1)
	m := newMove(t, newCloudlet(t), newCloudlet(t))
	right := m.from.reference("base", g)
	sum, _, _ := strings.Cut(right, ":")
	m.to.reference("base", qemutest.NewGuest(1200, 9))
	m.sends, m.receives = []string{"--reference", right}, []string{"--reference", sum + ":" + m.to.path("base")}
	m.run(stream).well(t, stream)
	if status := m.from.status(); status.Wrong == 0 || status.Wrong != m.to.status().Wrong {
		t.Errorf("%+v", status)
	}
}
