package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"weft/agents/transfer/internal/codec"
	"weft/agents/transfer/internal/ends"
	"weft/agents/transfer/internal/line"
	"weft/agents/transfer/internal/tree"
	"weft/routeserver/durable"
)

const mostOrder = 1 << 12 // bytes of an order, and of its answer: the other end is not trusted

// errNoOrder means that the caller ends the session.
var errNoOrder = errors.New("no order")

// sendTrees sends rounds of trees, as callers of the socket order them, until one of them ends the session.
func (e *end) sendTrees(ctx context.Context, over *line.Line, source *ends.Source) error {
	ours, its, err := pair()
	if err != nil {
		return over.Refuse(err.Error())
	}
	defer ours.Close()
	defer its.Close()
	orders, err := listenUnix(e.qemu)
	if err != nil {
		return over.Refuse(err.Error())
	}
	defer orders.Close()
	before, err := e.places()
	if err != nil {
		return over.Refuse(err.Error())
	}
	e.report.Reached(ends.Ready)
	go e.order(orders, ours)
	var sender *tree.Sender
	if err := source.Run(ctx, its, func(in io.Reader) ends.Records {
		sender = tree.NewSender(in, e.folder, e.trees, before)
		sender.Tells = e.keep
		return sender
	}); err != nil {
		return err
	}
	if !e.keep {
		return e.keepPlaces("")
	}
	return e.keepPlaces(sender.Places())
}

// places returns where files' pages are in the kept mirror; nothing if it is a new one.
func (e *end) places() (string, error) {
	if !e.agreed.Kept {
		return "", e.keepPlaces("")
	}
	text, err := os.ReadFile(e.placesFile())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	return string(text), nil
}

// keepPlaces writes down where files' pages are in the mirror, if that is kept.
func (e *end) keepPlaces(text string) error {
	if !e.keep || text == "" {
		if err := os.Remove(e.placesFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	return durable.Replace(e.placesFile(), []byte(text), 0o600)
}

func (e *end) placesFile() string { return e.options.mirror + ".places" }

// order passes each order on, and its answer back, one after the other. A caller that orders nothing, and says so by an
// empty line, ends the session.
func (e *end) order(orders net.Listener, sender *net.UnixConn) {
	answers := bufio.NewReaderSize(sender, mostOrder)
	for {
		caller, err := orders.Accept()
		if err != nil {
			return
		}
		answer, err := e.carryOut(caller, sender, answers)
		if errors.Is(err, errNoOrder) {
			_ = caller.Close()
			_ = sender.CloseWrite()
			continue
		}
		if err != nil {
			answer, _ = json.Marshal(map[string]string{"error": err.Error()}) // never fails
			answer = append(answer, '\n')
		}
		_, _ = caller.Write(answer) // a caller that has gone misses it
		_ = caller.Close()
	}
}

// carryOut returns the answer to a caller's order. The round goes on if the caller does not wait for it.
func (e *end) carryOut(caller net.Conn, sender io.Writer, answers *bufio.Reader) ([]byte, error) {
	order, err := bufio.NewReader(io.LimitReader(caller, mostOrder)).ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("an order without an end: %w", err)
	}
	if len(order) == 1 {
		return nil, errNoOrder
	}
	if _, err := tree.ParseOrder(order, e.trees); err != nil {
		return nil, err
	}
	e.report.Reached(ends.Streaming)
	if _, err := sender.Write(order); err != nil {
		return nil, fmt.Errorf("the session has ended: %w", err)
	}
	answer, err := answers.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, fmt.Errorf("the other end answers with more than %d bytes", mostOrder)
	}
	if err != nil {
		return nil, fmt.Errorf("the session has ended: %w", err)
	}
	return bytes.Clone(answer), nil
}

// receiveTrees unpacks rounds below the folder.
func (e *end) receiveTrees(ctx context.Context, over *line.Line, decoder *codec.Decoder) error {
	ours, its, err := pair()
	if err != nil {
		return over.Refuse(err.Error())
	}
	defer ours.Close()
	defer its.Close()
	receiver, err := tree.NewReceiver(e.folder, e.trees)
	if err != nil {
		return over.Refuse(err.Error())
	}
	defer receiver.Close()
	unpacked := make(chan error, 1)
	go func() {
		err := receiver.Run(ours)
		if err != nil {
			_ = over.Refuse(err.Error())
		}
		unpacked <- err
		_ = ours.Close()
	}()
	e.report.Reached(ends.Streaming)
	err = ends.NewDestination(over, decoder, false, e.report).Run(ctx, its)
	_ = its.Close()
	if wrong := <-unpacked; wrong != nil { // it is the reason of all that follows
		return wrong
	}
	if err != nil {
		return err
	}
	return e.keepPlaces(receiver.Places())
}

// pair returns two ends of a connection.
func pair() (one, other *net.UnixConn, err error) {
	descriptors, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	var conns [2]*net.UnixConn
	for n, descriptor := range descriptors {
		file := os.NewFile(uintptr(descriptor), "pair")
		conn, wrong := net.FileConn(file)
		err = errors.Join(err, wrong, file.Close())
		conns[n], _ = conn.(*net.UnixConn)
	}
	return conns[0], conns[1], err
}
