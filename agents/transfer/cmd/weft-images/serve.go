package main

import (
	"context"
	"fmt"
	"io"

	"weft/agents/transfer/internal/images/serve"
	"weft/routeserver/identity"
)

const servePurpose = `serves the images in directories to other cloudlets of the region, over HTTPS with mutual TLS. A file
is served only if an image's manifest names it and its content has the manifest's digest. The identity may be renewed
meanwhile.`

func serveImages(ctx context.Context, args []string, output io.Writer, warn warner, tell printer) error {
	var directories list
	f := flags("serve")
	f.Var(&directories, "directory", "`folder` that has images; may be given several times")
	listen := f.String("listen", "", "`host:port` where the other cloudlets' requests come")
	own := f.String("identity", "", "`directory` with this cloudlet's key and certificate")
	bits := f.Int64("bandwidth", 0, "`bits` per second that may leave, in all; 0: no limit")
	if err := parse(f, args, servePurpose, output, false, "directory", "listen", "identity"); err != nil {
		return err
	}
	err := place(*listen)
	if err == nil && *bits < 0 {
		err = fmt.Errorf("--bandwidth %d is negative", *bits)
	}
	if err != nil {
		return &usageError{err}
	}
	store, err := serve.New(directories, *bits, warn)
	if err != nil {
		return err
	}
	listener, err := serve.Listen(ctx, *listen)
	if err != nil {
		return err
	}
	tell(fmt.Sprintf("listening on %s", listener.Addr()))
	return store.Serve(ctx, listener, identity.New(*own).Cloudlets())
}
