package main

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"weft/agents/transfer/internal/ends"
)

// listenUnix waits at a socket that only this user can connect to. One that an ended process has left is replaced.
func listenUnix(path string) (*net.UnixListener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	return listener, os.Chmod(path, 0o600)
}

// awaitQEMU returns the connection of the QEMU that migrates into a socket.
func awaitQEMU(ctx context.Context, path string) (*net.UnixConn, error) {
	listener, err := listenUnix(path)
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	conn, err := listener.AcceptUnix()
	return conn, errors.Join(err, ctx.Err())
}

// show answers each connection to a socket with the status, until the listener is closed.
func show(path string, report *ends.Report) (net.Listener, error) {
	listener, err := listenUnix(path)
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.SetDeadline(time.Now().Add(time.Second))
			_, _ = conn.Write(report.JSON()) // a caller that has gone misses it
			_ = conn.Close()
		}
	}()
	return listener, nil
}
