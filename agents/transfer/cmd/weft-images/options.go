package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strings"
)

const intro = `weft-images: the store of images of one cloudlet.

    weft-images fetch --image NAME --digest sha256:HEX --directory DIR SOURCES...   brings an image to DIR/NAME
    weft-images serve --directory DIR --listen HOST:PORT --identity DIR             serves images to other cloudlets
    weft-images pack --directory OUT FILE...                                        makes the image of a virtual machine
    weft-images push --directory DIR --registry HOST[:PORT]/REPOSITORY[:TAG]        copies an image to a registry
    weft-images --version

Exit codes: 0 done; 1 failed, may succeed later; 2 wrong command line; 3 refused, another try fails in the same way.
Each command has --help.
`

// Both write a line to stderr, a warner as a warning.
type (
	warner  func(format string, args ...any)
	printer func(text string)
)

// command dispatches a command line.
func command(ctx context.Context, args []string, output io.Writer, warn warner, tell printer) error {
	if len(args) == 0 {
		return &usageError{errors.New("no command; see --help")}
	}
	switch verb, rest := args[0], args[1:]; verb {
	case "fetch":
		return fetchImage(ctx, rest, output, warn)
	case "serve":
		return serveImages(ctx, rest, output, warn, tell)
	case "pack":
		return packImage(ctx, rest, output)
	case "push":
		return pushImage(ctx, rest, output)
	case "--help", "-help", "-h", "help":
		fmt.Fprint(output, intro)
		return errDone
	case "--version", "-version":
		fmt.Fprintln(output, "weft-images", version)
		return errDone
	default:
		return &usageError{fmt.Errorf("%q is not a command; see --help", verb)}
	}
}

// flags returns the flags of a command.
func flags(verb string) *flag.FlagSet {
	f := flag.NewFlagSet("weft-images "+verb, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	return f
}

// parse parses the arguments of a command, whose purpose --help prints. Those in `required` must be given; without
// `files`, nothing but flags may be.
func parse(f *flag.FlagSet, args []string, purpose string, output io.Writer, files bool, required ...string) error {
	err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(output, "%s: %s\n\n", f.Name(), purpose)
		f.SetOutput(output)
		f.PrintDefaults()
		return errDone
	}
	if err == nil && f.NArg() > 0 && !files {
		err = fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	for _, name := range required {
		if given := f.Lookup(name).Value.String(); err == nil && given == "" {
			err = fmt.Errorf("--%s is missing", name)
		}
	}
	if err != nil {
		return &usageError{fmt.Errorf("%w; see %s --help", err, f.Name())}
	}
	return nil
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, ", ") }

// Set adds a value.
func (l *list) Set(text string) error {
	if text == "" {
		return errors.New("it is empty")
	}
	*l = append(*l, text)
	return nil
}

// place checks an address of the form host:port.
func place(text string) error {
	if _, port, err := net.SplitHostPort(text); err != nil || port == "" {
		return fmt.Errorf("%q is not of the form host:port", text)
	}
	return nil
}

// oneLine returns an error's text without line breaks.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
