// Command terraform-provider-weft is the provider for Terraform and OpenTofu, which start it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"weft/deploy/terraform/internal/provider"
)

// version is set by the linker of a release.
var version = "0.1.0"

// address is the source that configurations name.
const address = "weft.internal/weft/weft"

func main() {
	debug := flag.Bool("debug", false, "wait for a debugger, and print how Terraform finds this process")
	shown := flag.Bool("version", false, "print the version")
	flag.Parse()
	if *shown {
		fmt.Println("terraform-provider-weft", version)
		return
	}
	options := providerserver.ServeOpts{Address: address, Debug: *debug}
	if err := providerserver.Serve(context.Background(), provider.New(version), options); err != nil {
		fmt.Fprintln(os.Stderr, "terraform-provider-weft:", err)
		os.Exit(1)
	}
}
