package main

import (
	"context"
	"fmt"

	"weft/agents/transfer/internal/pages"
)

// storeBase makes a reference file of the memory of the machine that QEMU migrates into the socket.
func storeBase(ctx context.Context, o *options) error {
	qemu, err := awaitQEMU(ctx, o.qemu)
	if err != nil {
		return err
	}
	defer qemu.Close()
	stop := context.AfterFunc(ctx, func() { _ = qemu.Close() })
	defer stop()
	stored, err := pages.StoreBase(qemu, o.memory)
	if err != nil {
		return err
	}
	fmt.Printf("%d pages are in %s\n", stored, o.memory)
	return nil
}
