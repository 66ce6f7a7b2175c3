package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"weft/routeserver/internal/rawbgp"
)

const (
	server = "127.0.0.1"
	stall  = 20 * time.Second // time for which the slow PE reads nothing
)

// PE is an emulated PE with one site. The region's lock guards the fields that change.
type PE struct {
	region   *Region
	site     int
	family   *family
	graceful bool   // it speaks graceful restart
	all      uint64 // its routes
	slow     bool
	rogue    bool // its announcements are unknown, and it may lose its session

	voice     sync.Mutex // messages go out in the order of the changes
	conn      net.Conn   // nil: no session
	announced uint64
	held      []uint64     // by site
	asleep    atomic.Int64 // end of the time without reading, Unix time in ns
	away      atomic.Bool  // it opens a session again soon
}

func address(site int) string { return fmt.Sprintf("127.1.%d.%d", site/250, site%250+1) }

// connect opens a session and announces the PE's routes.
func (p *PE) connect() error {
	conn, in, err := p.dial(address(p.site))
	if err != nil {
		return err
	}
	p.voice.Lock()
	defer p.voice.Unlock()
	p.region.mu.Lock()
	p.conn = conn
	clear(p.held)
	hello := append(announcement(p.family, p.site, p.announced, 0), withdrawal(p.family, p.site, 0)...)
	p.region.mu.Unlock()
	go p.listen(conn, in)
	return write(conn, hello)
}

// persist repeats connect until it succeeds.
func (p *PE) persist() {
	var err error
	for range 100 {
		if err = p.connect(); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.region.broken(fmt.Errorf("PE %d gets no session: %w", p.site, err))
}

// dial opens a connection from an address and exchanges OPENs and KEEPALIVEs.
func (p *PE) dial(from string) (net.Conn, *bufio.Reader, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 5 * time.Second}
	conn, err := d.Dial("tcp", server+":179")
	if err != nil {
		return nil, nil, err
	}
	if p.slow {
		_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	}
	in := bufio.NewReaderSize(conn, 4096)
	if err := rawbgp.Shake(conn, in, open(p.family, p.site, p.graceful), 10*time.Second); err != nil {
		conn.Close()
		return nil, nil, err
	}
	return conn, in, nil
}

// listen reads messages. If a session ends that the PE has not ended itself, this is an error.
func (p *PE) listen(conn net.Conn, in *bufio.Reader) {
	buf := make([]byte, rawbgp.Longest)
	for {
		for time.Now().UnixNano() < p.asleep.Load() {
			time.Sleep(50 * time.Millisecond)
		}
		kind, body, err := rawbgp.Read(in, buf)
		if err == nil && kind == rawbgp.TypeNotification {
			err = fmt.Errorf("NOTIFICATION %x", body)
		}
		if err == nil && kind == rawbgp.TypeUpdate {
			err = p.hear(conn, body)
		}
		if err != nil {
			p.over(conn, err)
			return
		}
	}
}

func (p *PE) over(conn net.Conn, err error) {
	conn.Close()
	p.region.mu.Lock()
	defer p.region.mu.Unlock()
	if p.conn != conn {
		return // the PE closed it
	}
	p.conn = nil
	clear(p.held)
	if !p.rogue {
		p.region.broken(fmt.Errorf("the session of PE %d ended: %w", p.site, err))
	}
}

// hear parses an UPDATE.
func (p *PE) hear(conn net.Conn, body []byte) error {
	bad := errors.New("an UPDATE is malformed")
	if len(body) < 4 || body[0]|body[1] != 0 || len(body)-4 != int(binary.BigEndian.Uint16(body[2:])) {
		return bad
	}
	attributes := map[byte][]byte{}
	for rest := body[4:]; len(rest) > 0; {
		head, n := 3, 0
		if rest[0]&0x10 != 0 {
			head = 4
		}
		if len(rest) < head {
			return bad
		}
		if n = int(rest[2]); head == 4 {
			n = int(binary.BigEndian.Uint16(rest[2:]))
		}
		if len(rest) < head+n {
			return bad
		}
		attributes[rest[1]] = rest[head : head+n]
		rest = rest[head+n:]
	}
	p.region.mu.Lock()
	defer p.region.mu.Unlock()
	if p.conn != conn {
		return nil
	}
	if u := attributes[15]; len(u) >= 3 {
		if err := p.region.hear(p, binary.BigEndian.Uint16(u), u[2], u[3:], nil, false); err != nil {
			return err
		}
	}
	if u := attributes[14]; len(u) >= 5 && len(u) >= 5+int(u[3]) {
		return p.region.hear(p, binary.BigEndian.Uint16(u), u[2], u[5+int(u[3]):], attributes[16], true)
	}
	return nil
}

func write(conn net.Conn, data []byte) error {
	_ = conn.SetWriteDeadline(time.Now().Add(30 * time.Second))
	_, err := conn.Write(data)
	return err
}

// say sends the data that a function returns. The function may change the PE. Errors appear in listen.
func (p *PE) say(what func() []byte) {
	p.voice.Lock()
	defer p.voice.Unlock()
	p.region.mu.Lock()
	conn, data := p.conn, what()
	p.region.mu.Unlock()
	if conn != nil {
		_ = write(conn, data)
	}
}

// forget drops the session in the PE's records; the connection stays open.
func (p *PE) forget() net.Conn {
	p.region.mu.Lock()
	defer p.region.mu.Unlock()
	conn := p.conn
	p.conn = nil
	clear(p.held)
	return conn
}
