// Command weft-images is the store of images of one cloudlet: it fetches them from other cloudlets or a registry, serves
// them to other cloudlets, and packs and pushes them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"weft/agents/transfer/internal/images"
)

// version is set by the linker of a release.
var version = "0.1.0"

// Exit codes.
const (
	failed  = 1 // it may succeed later
	usage   = 2 // the command line is wrong
	refused = 3 // it fails in the same way however often it is tried
)

// errDone means that the requested text is printed.
var errDone = errors.New("done")

// usageError is a wrong command line.
type usageError struct{ error }

func (u *usageError) Unwrap() error { return u.error }

func main() {
	_ = unix.Umask(0o022) // machines of other users read images, whatever the agent's own files are like
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run carries out a command line, and returns the exit code.
func run(ctx context.Context, args []string, output, complaints io.Writer) int {
	err := command(ctx, args, output, func(format string, args ...any) {
		fmt.Fprintf(complaints, "weft-images: warning: "+format+"\n", args...)
	}, func(text string) { fmt.Fprintln(complaints, text) })
	if err == nil || errors.Is(err, errDone) {
		return 0
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("ended by a signal: %w", err)
	}
	fmt.Fprintln(complaints, "weft-images:", oneLine(err))
	var wrong *usageError
	switch {
	case errors.As(err, &wrong):
		return usage
	case images.IsRefused(err):
		return refused
	default:
		return failed
	}
}
