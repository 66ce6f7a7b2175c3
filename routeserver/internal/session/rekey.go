package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"syscall"

	"weft/routeserver/internal/wire"
)

func (s *Server) protection(address netip.Addr) (p Protection, protected bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, protected = s.Keys[address.Unmap()]
	return p, protected
}

// Rekey replaces the keys of the password file, without closing the listening socket. It does not touch sessions of
// neighbours with unchanged keys. Of the others, a session goes on
//   - with another TCP-MD5 password: it signs with that from now on, and the neighbour has the hold time to do so too;
//   - with TCP-AO, if one key stays: the neighbour is asked to use the first key, and does so as soon as it has it;
//
// and any other change of keys ends it, since it was opened with other keys than those now required. If the kernel
// refuses the keys, Rekey returns an error and nothing has changed.
func (s *Server) Rekey(keys Keys) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rekey(merged(s.Told, keys), func() error { s.filed = keys; return nil })
}

// rekey puts keys in force after `commit` has recorded their source. It requires the lock.
func (s *Server) rekey(keys Keys, commit func() error) error {
	trial, err := s.listenConfig(keys).Listen(context.Background(), "tcp", netip.AddrPortFrom(s.Listen.Addr(), 0).String())
	if err != nil {
		return fmt.Errorf("the keys cannot be set: %w", cause(err))
	}
	trial.Close()
	if err := commit(); err != nil {
		return err
	}
	old := s.Keys
	changed := slices.DeleteFunc(slices.SortedFunc(maps.Keys(merged(old, keys)), netip.Addr.Compare), func(a netip.Addr) bool { return old[a].equal(keys[a]) })
	s.Keys = keys
	var failed []error
	if s.listener != nil {
		failed = append(failed, onSocket(s.listener, func(fd int, six bool) error {
			for _, address := range changed {
				if err := protect(fd, six, address, old[address], keys[address]); err != nil {
					return fmt.Errorf("the keys of %s: %w", address, err)
				}
			}
			return nil
		}))
	}
	for _, slot := range s.slots {
		slot.each(func(c *connection) {
			address := netip.MustParseAddr(c.peer.Address).Unmap()
			if was, is := old[address], keys[address]; !was.equal(is) {
				c.rekey(address, was, is)
			}
		})
	}
	s.log.Info("the keys have been read", "neighbours", len(keys), "changed", fmt.Sprint(changed))
	return errors.Join(failed...)
}

func merged(a, b Keys) Keys {
	all := maps.Clone(a)
	if all == nil {
		all = Keys{}
	}
	maps.Copy(all, b)
	return all
}

// rekey lets a connection go on with other keys, or ends it.
func (c *connection) rekey(address netip.Addr, was, is Protection) {
	err := errors.New("its keys are of another kind")
	switch {
	case was.password != "" && is.password != "":
		c.mu.Lock()
		c.rekeyed = true
		c.mu.Unlock()
		err = onSocket(c.conn, func(fd int, six bool) error { return setPassword(fd, six, address, is.password) })
	case len(was.chain) > 0 && len(is.chain) > 0:
		err = onSocket(c.conn, func(fd int, six bool) error { return roll(fd, six, address, was.chain, is.chain) })
	}
	if err != nil {
		c.server.log.Info("the session does not go on with other keys", "peer", c.peer.Name, "reason", err)
		c.stop(&wire.Notification{Code: wire.Cease, Subcode: wire.OtherConfiguration, Text: "other TCP keys are in force"})
	}
}

// roll moves a connection from a chain of TCP-AO keys to another one that has a key in common with it.
func roll(fd int, six bool, address netip.Addr, was, is []aoKey) error {
	keep := slices.IndexFunc(is, func(k aoKey) bool { return slices.Contains(was, k) })
	if keep < 0 {
		return errors.New("no key stays")
	}
	for _, k := range is {
		if !slices.Contains(was, k) {
			if err := addKey(fd, six, address, k); err != nil {
				return err
			}
		}
	}
	for _, k := range was {
		if !slices.Contains(is, k) {
			if err := deleteKey(fd, six, address, k, &is[keep]); err != nil {
				return err
			}
		}
	}
	return askFor(fd, is[0])
}

// onSocket calls a function with the socket of a listener or a connection, and with whether it is an IPv6 socket.
func onSocket(socket any, do func(fd int, six bool) error) error {
	s, ok := socket.(syscall.Conn)
	if !ok {
		return errors.New("not a socket")
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return err
	}
	return control(raw, func(fd int) error {
		six, err := overIPv6(fd)
		if err != nil {
			return err
		}
		return do(fd, six)
	})
}
