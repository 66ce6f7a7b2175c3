package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"

	"weft/agents/transfer/internal/codec"
	"weft/agents/transfer/internal/ends"
	"weft/agents/transfer/internal/line"
	"weft/agents/transfer/internal/pages"
	"weft/agents/transfer/internal/stream"
	"weft/routeserver/identity"
)

// end is one run of the command.
type end struct {
	*options
	log        *slog.Logger
	report     *ends.Report
	secure     *tls.Config
	mirror     *pages.Mirror
	references []*pages.Reference
	memory     *codec.Memory
	agreed     line.Greeted
}

// run carries out a move, and returns when all of the stream has passed.
func run(ctx context.Context, o *options) (err error) {
	e := &end{options: o, log: slog.New(slog.NewTextHandler(os.Stderr, nil)), report: ends.NewReport(o.move)}
	defer func() {
		if err != nil {
			e.report.Failed(err)
		}
		if o.report != "" {
			err = errors.Join(err, os.WriteFile(o.report, e.report.JSON(), 0o600))
		}
	}()
	if o.pid != "" {
		if err := os.WriteFile(o.pid, strconv.AppendInt(nil, int64(os.Getpid()), 10), 0o600); err != nil {
			return err
		}
	}
	if o.status != "" {
		shown, err := show(o.status, e.report)
		if err != nil {
			return err
		}
		defer shown.Close()
	}
	if o.identity != "" {
		if e.secure, err = identity.New(o.identity).Peer(o.peer); err != nil {
			return err
		}
	}
	if err := e.open(); err != nil {
		return err
	}
	defer e.close()
	defer e.forget()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if o.verb == send {
		err = e.send(ctx)
	} else {
		err = e.receive(ctx)
	}
	if err != nil {
		return err
	}
	e.report.Reached(ends.Ended)
	if !o.keep {
		return nil
	}
	return e.mirror.Keep(e.memory)
}

// open opens the mirror, and those reference files that are here.
func (e *end) open() (err error) {
	if e.mirror, err = pages.OpenMirror(e.options.mirror); err != nil {
		return err
	}
	for _, one := range e.options.references {
		found, err := pages.OpenReference(one.path, one.digest)
		if err != nil { // without it more bytes go over the line
			e.log.Warn("a reference file is not used", "error", err)
			continue
		}
		e.references = append(e.references, found)
	}
	return nil
}

// forget deletes the mirror, which is the guest's memory or disk, unless it is to be kept, or is the copy of an earlier
// stay that this session has not come to use.
func (e *end) forget() {
	if kept, _ := e.mirror.Kept(); !e.keep && kept == "" {
		_ = os.Remove(e.options.mirror)
	}
}

func (e *end) close() {
	for _, reference := range e.references {
		_ = reference.Close()
	}
	_ = e.mirror.Close()
}

// greet agrees with the other end on what both have.
func (e *end) greet(over *line.Line) (err error) {
	own := line.Has{Move: e.move, Mirror: e.pages}
	own.Kept, own.KeptPages = e.mirror.Kept()
	for _, reference := range e.references {
		own.References = append(own.References, reference.Digest)
	}
	if e.agreed, err = over.Greet(own, e.verb == send); err != nil {
		return err
	}
	if e.memory, err = e.mirror.Memory(e.agreed.Mirror, e.agreed.Kept); err != nil {
		return over.Refuse(err.Error())
	}
	e.references = pages.Chosen(e.references, e.agreed.References)
	e.report.Agreed(e.agreed)
	return nil
}

func (e *end) send(ctx context.Context) error {
	conn, err := line.Dial(ctx, e.place, e.secure, e.multipath)
	if err != nil {
		return fmt.Errorf("the other end at %s: %w", e.place, err)
	}
	defer conn.Close()
	over := line.New(conn)
	_ = conn.SetDeadline(time.Now().Add(line.Patience))
	if err := e.greet(over); err != nil {
		return fmt.Errorf("the other end at %s: %w", e.place, err)
	}
	_ = conn.SetDeadline(time.Time{})
	over.Live(ctx)
	var references []codec.Reference
	for _, reference := range e.references {
		hashes := reference.Hashes(e.hashes)
		if hashes == nil {
			e.log.Warn("the pages of a large reference file are not hashed yet, and so not used", "digest", reference.Digest)
		}
		references = append(references, codec.Reference{Pages: reference, Hashes: hashes})
	}
	encoder := codec.NewEncoder(e.memory, references...)
	encoder.Without = e.without
	source := ends.NewSource(over, encoder, e.workers, e.bandwidth, e.report)
	source.Sparing = e.sparing
	if e.trees != nil {
		return e.sendTrees(ctx, over, source)
	}
	e.report.Reached(ends.Ready)
	qemu, err := awaitQEMU(ctx, e.qemu)
	if err != nil {
		return over.Refuse(err.Error())
	}
	e.report.Reached(ends.Streaming)
	return source.Run(ctx, qemu, e.records)
}

// records reads what QEMU sends.
func (e *end) records(in io.Reader) ends.Records {
	if e.disk > 0 {
		return stream.NewNBDReader(in, uint64(e.disk))
	}
	return stream.NewReader(in)
}

func (e *end) receive(ctx context.Context) error {
	listener, err := line.Listen(ctx, e.place, e.multipath)
	if err != nil {
		return err
	}
	e.report.Reached(ends.Waiting)
	var over *line.Line
	greet := func(conn net.Conn) error {
		over = line.New(conn)
		return e.greet(over)
	}
	conn, err := line.Accept(ctx, listener, e.secure, greet, func(from net.Addr, reason error) {
		e.log.Warn("a connection is refused", "from", from, "reason", reason)
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	over.Live(ctx)
	var references []codec.Pages
	for _, reference := range e.references {
		references = append(references, reference)
	}
	decoder := codec.NewDecoder(e.memory, references...)
	if e.trees != nil {
		return e.receiveTrees(ctx, over, decoder)
	}
	qemu, err := net.Dial("unix", e.qemu)
	if err != nil {
		return over.Refuse(err.Error())
	}
	e.report.Reached(ends.Streaming)
	return ends.NewDestination(over, decoder, e.disk > 0, e.report).Run(ctx, qemu.(*net.UnixConn))
}
