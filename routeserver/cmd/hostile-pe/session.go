package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"net"
	"time"

	"weft/routeserver/internal/poisons"
	"weft/routeserver/internal/rawbgp"
)

const (
	patience = 5 * time.Second // for an OPEN, a KEEPALIVE or a write
	retry    = time.Second     // between attempts to open a session
)

// pe is the hostile PE as one route server sees it.
type pe struct {
	from, to  string
	asn, macs int
	hurting   bool // it also announces poisons that are known to hurt a daemon
	site      poisons.Site
	done      *counts
}

// session is one BGP connection.
type session struct {
	net.Conn
	in *bufio.Reader
}

// dial opens a session.
func (p *pe) dial(ctx context.Context, extended bool) (*session, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(p.from)}, Timeout: patience}
	conn, err := d.DialContext(ctx, "tcp", p.to)
	if err != nil {
		return nil, err
	}
	s := &session{conn, bufio.NewReader(conn)}
	if err := rawbgp.Shake(conn, s.in, p.open(extended), patience); err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

// open returns the PE's OPEN: EVPN, route refresh, four-octet AS numbers, and messages of up to 65,535 octets (RFC
// 8654) if extended.
func (p *pe) open(extended bool) []byte {
	capabilities := []byte{1, 4, 0, 25, 0, 70, 2, 0, 70, 0}
	capabilities = binary.BigEndian.AppendUint32(append(capabilities, 65, 4), uint32(p.asn))
	if extended {
		capabilities = append(capabilities, 6, 0)
	}
	my := uint16(23456) // AS_TRANS (RFC 6793)
	if p.asn <= 0xffff {
		my = uint16(p.asn)
	}
	id := p.site.Hop.As4()
	body := append([]byte{4, byte(my >> 8), byte(my), 0, 180}, id[:]...)
	body = append(body, byte(len(capabilities)+2), 2, byte(len(capabilities)))
	return rawbgp.Message(rawbgp.TypeOpen, append(body, capabilities...))
}

// listen reads and counts messages, so that the route server's writes never block.
func (s *session) listen(done *counts) {
	buf := make([]byte, rawbgp.Longest)
	for {
		kind, _, err := rawbgp.Read(s.in, buf)
		if err != nil {
			return
		}
		switch kind {
		case rawbgp.TypeNotification:
			done.add("NOTIFICATION received", 1)
		case rawbgp.TypeUpdate:
			done.add("UPDATE received", 1)
		}
	}
}

// say writes a message and returns false if the session is over.
func (s *session) say(m []byte) bool {
	_ = s.SetWriteDeadline(time.Now().Add(patience))
	_, err := s.Write(m)
	return err == nil
}
