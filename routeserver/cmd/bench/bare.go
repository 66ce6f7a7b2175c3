package main

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"sync"

	"weft/routeserver/internal/rawbgp"
)

// bare is the baseline of the comparison: a program that takes the same sessions, waits until every PE has announced,
// and then writes UPDATEs that it made beforehand for each PE. No route server can do its job with less work.
type bare struct{ p *Process }

func init() { drivers["bare"] = &kind{start: startBare, bare: true} }

func startBare(c Cell, _ *World, dir string) (Driver, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c.Daemon = "bare-sender"
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	p, err := startProcess(dir, self, "-inside", string(text))
	return &bare{p}, err
}

func (b *bare) process() *Process        { return b.p }
func (b *bare) version() string          { return "" }
func (b *bare) move(int, int, int) error { return nil }

// sendBare runs the bare sender.
func sendBare(c Cell) error {
	w := newWorld(c)
	updates := make([][]byte, c.PEs)
	for i := range updates {
		for s := range c.PEs {
			if w.wants(i, s) {
				updates[i] = append(updates[i], w.family.announcements(s, w.routes, rt(i))...)
			}
		}
	}
	l, err := net.Listen("tcp", server+":179")
	if err != nil {
		return err
	}
	var announced sync.WaitGroup
	announced.Add(c.PEs)
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			index, err := w.hear(conn)
			if err != nil {
				return // an attempt that the PE gave up and will repeat
			}
			announced.Done()
			announced.Wait()
			_, _ = conn.Write(updates[index])
		}()
	}
}

// hear serves a session until its PE has announced all its routes, and returns the PE's index.
func (w *World) hear(conn net.Conn) (int, error) {
	if _, err := conn.Write(append(w.family.open([4]byte{10, 255, 0, 1}, false), rawbgp.Message(4, nil)...)); err != nil {
		return 0, err
	}
	in, buf := bufio.NewReaderSize(conn, 65536), make([]byte, 65536)
	for updates := 0; updates < (w.routes+w.family.perMessage()-1)/w.family.perMessage(); {
		kind, _, err := rawbgp.Read(in, buf)
		if err != nil {
			return 0, err
		}
		if kind == 2 {
			updates++
		}
	}
	ip := conn.RemoteAddr().(*net.TCPAddr).IP.To4()
	return int(ip[2])*250 + int(ip[3]) - 1, nil
}
