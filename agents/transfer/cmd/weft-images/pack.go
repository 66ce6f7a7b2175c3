package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"weft/agents/transfer/internal/images/pack"
)

const packPurpose = `makes the image of a virtual machine at a folder from FILES, and prints its digest. The files are called
kernel, initramfs, cmdline and disk.qcow2, and memory. with its digest (weft-agent base-memory). The same files have the same digest.`

func packImage(ctx context.Context, args []string, output io.Writer) error {
	f := flags("pack")
	folder := f.String("directory", "", "`folder` of the image, which is empty or absent")
	if err := parse(f, args, packPurpose, output, true, "directory"); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return &usageError{errors.New("no file")}
	}
	made, err := pack.Pack(ctx, *folder, f.Args())
	if err == nil {
		fmt.Fprintln(output, made)
	}
	return err
}
