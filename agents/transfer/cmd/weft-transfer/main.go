// Command weft-transfer is one end of a move over a thin line: it passes the migration stream of the QEMU beside it to
// the other end, as what the other end does not have, or from there to the QEMU beside it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the linker of a release.
var version = "0.1.0"

func main() {
	options, err := parse(os.Args[1:], os.Stdout)
	if errors.Is(err, errDone) {
		return
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
		switch options.verb {
		case store:
			err = storeBase(ctx, options)
		case hash:
			err = hashReferences(options)
		default:
			err = run(ctx, options)
		}
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "weft-transfer:", err)
		os.Exit(1)
	}
}
