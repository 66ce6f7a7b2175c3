package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"weft/agents/transfer/internal/codec"
	"weft/agents/transfer/internal/stream"
)

// errDone means that parse has printed the requested text.
var errDone = errors.New("done")

// options are the checked command line.
type options struct {
	verb       verb
	place      string // host and port of the destination's end
	qemu       string
	move       string
	identity   string // empty: no TLS
	peer       string
	multipath  bool
	memory     string
	mirror     string
	pages      int
	keep       bool
	references []reference
	hashes     string
	sparing    bool
	workers    int
	bandwidth  int64 // bits per second; 0: the line's own
	disk       int64 // bytes; 0: the stream is one of memory
	trees      []string
	folder     string // which has the trees
	without    codec.Techniques
	status     string
	pid        string
	report     string
}

// verb is what the command does.
type verb string

const (
	send    verb = "send"
	receive verb = "receive"
	store   verb = "store"
	hash    verb = "hash"
)

// reference is a file that the other end may have too.
type reference struct{ path, digest string }

const intro = `weft-transfer: one end of a move of a virtual machine over a thin line.

    weft-transfer send --to HOST:PORT [options]         beside the QEMU that has the machine: connects to the other end,
                                                        then QEMU migrates into the socket --qemu, or with --disk
                                                        mirrors its disk to an NBD server there
    weft-transfer receive --listen HOST:PORT [options]  beside the QEMU that waits for the machine at the socket --qemu,
                                                        or serves its disk there by NBD
    weft-transfer send|receive --trees NAMES [options]  beside a container's runtime, in the container's folder: each line
                                                        that comes to the source's socket --qemu, such as
                                                        {"trees": ["upper"], "last": false}, is answered when these
                                                        directories are the same at the other end
    weft-transfer store --qemu SOCKET --memory FILE     makes a reference file of a stopped machine's memory: QEMU migrates
                                                        into the socket --qemu
    weft-transfer hash --hashes DIRECTORY --reference SHA256:PATH
                                                        hashes the pages of reference files, so that no move waits for that

`

var (
	digest   = regexp.MustCompile(`^[0-9a-f]{64}$`)
	treeName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)
)

func parse(args []string, output io.Writer) (*options, error) {
	o := &options{folder: "."}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		o.verb, args = verb(args[0]), args[1:]
	}
	f := flag.NewFlagSet("weft-transfer", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	to := f.String("to", "", "`host:port` of the destination's end (send)")
	listen := f.String("listen", "", "`host:port` where the destination's end waits (receive)")
	f.StringVar(&o.qemu, "qemu", "", "`path` of the unix socket between QEMU and this end (required)")
	f.StringVar(&o.move, "move", "", "`name` of the move; both ends must have the same one (required)")
	f.StringVar(&o.identity, "identity", "", "`directory` with this cloudlet's key and certificate (the agent's STATE_DIR/identity)")
	f.StringVar(&o.peer, "peer", "", "`name` of the other cloudlet, which its certificate must have")
	clear := f.Bool("clear", false, "without TLS, in place of --identity and --peer: for regions without an authority")
	f.BoolVar(&o.multipath, "multipath", false, "MPTCP, over all paths that the kernel knows")
	f.StringVar(&o.memory, "memory", "", "`file` for the distinct pages of the machine's memory (store)")
	f.StringVar(&o.mirror, "mirror", "", "`file` of the machine's mirror, as large as its memory or disk at most (required)")
	size := f.Int64("mirror-bytes", 1<<40, "`bytes` of the machine's memory or disk that are mirrored; 0: no deltas, and no page is known by its content")
	f.BoolVar(&o.keep, "keep", false, "keep the mirror after the move, for the machine's way back")
	f.Func("reference", "`sha256:path` of a file that the other end may have too, such as the image's disk; may be given several times", func(text string) error {
		sum, path, _ := strings.Cut(text, ":")
		if !digest.MatchString(sum) || path == "" {
			return errors.New("it is not of the form sha256:path")
		}
		o.references = append(o.references, reference{path, sum})
		return nil
	})
	f.StringVar(&o.hashes, "hashes", "", "`directory` that keeps the hashes of reference files' pages")
	f.BoolVar(&o.sparing, "sparing", false, "mirror no further page while the line is fast: sending it again takes less time (send)")
	f.IntVar(&o.workers, "workers", runtime.NumCPU(), "`number` of compressions at once (send)")
	f.Int64Var(&o.disk, "disk", 0, "`bytes` of the disk that QEMU mirrors; 0: it migrates memory")
	f.Func("trees", "`names` of directories here that go in rounds in place of a QEMU's stream, with commas between them", func(text string) error {
		for name := range strings.SplitSeq(text, ",") {
			if !treeName.MatchString(name) || slices.Contains(o.trees, name) {
				return fmt.Errorf("%q is not a directory's name", name)
			}
			o.trees = append(o.trees, name)
		}
		return nil
	})
	f.Int64Var(&o.bandwidth, "bandwidth", 0, "`bits` per second that may go to the other end (send); 0: no limit but the line's")
	f.Func("without", "`techniques` that are left out, to show what they are worth: known, deltas, compression, with commas between them (send)", func(text string) (err error) {
		o.without, err = codec.ParseTechniques(text)
		return err
	})
	f.StringVar(&o.status, "status", "", "`path` of a unix socket that answers each connection with the status, as a line of JSON")
	f.StringVar(&o.pid, "pid", "", "`file` for the process's number at the beginning")
	f.StringVar(&o.report, "report", "", "`file` for the status at the end")
	showVersion := f.Bool("version", false, "print the version and exit")
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(output, intro)
		f.SetOutput(output)
		f.PrintDefaults()
		return nil, errDone
	} else if err != nil {
		return nil, fmt.Errorf("%w; see --help", err)
	}
	if *showVersion {
		fmt.Fprintln(output, "weft-transfer", version)
		return nil, errDone
	}
	o.place, o.pages = *to+*listen, int(*size/stream.PageSize)
	switch {
	case o.verb != send && o.verb != receive && o.verb != store && o.verb != hash:
		return nil, fmt.Errorf("%q is not send, receive, store or hash; see --help", o.verb)
	case f.NArg() > 0:
		return nil, fmt.Errorf("%q is not an option; see --help", f.Arg(0))
	case o.verb == store:
		if o.qemu == "" || o.memory == "" {
			return nil, errors.New("--qemu and --memory are required; see --help")
		}
		return o, nil
	case o.verb == hash:
		if o.hashes == "" || len(o.references) == 0 {
			return nil, errors.New("--hashes and --reference are required; see --help")
		}
		return o, nil
	case (o.verb == send) != (*listen == "") || (o.verb == receive) != (*to == ""):
		return nil, errors.New("send goes with --to, and receive with --listen; see --help")
	case o.move == "" || o.mirror == "" || o.qemu == "" && !(o.verb == receive && o.trees != nil):
		return nil, errors.New("--qemu, --move and --mirror are required; see --help")
	case o.trees != nil && o.disk > 0:
		return nil, errors.New("--trees is without --disk; see --help")
	case *clear && (o.identity != "" || o.peer != ""):
		return nil, errors.New("--clear is without --identity and --peer; see --help")
	case !*clear && (o.identity == "" || o.peer == ""):
		return nil, errors.New("--identity and --peer are required, or --clear; see --help")
	case *size < 0:
		return nil, fmt.Errorf("--mirror-bytes %d is less than 0", *size)
	case o.disk < 0:
		return nil, fmt.Errorf("--disk %d is less than 0", o.disk)
	case o.bandwidth < 0:
		return nil, fmt.Errorf("--bandwidth %d is less than 0", o.bandwidth)
	case o.workers < 1 || o.workers > 64:
		return nil, fmt.Errorf("--workers %d is not from 1 to 64", o.workers)
	}
	if _, _, err := net.SplitHostPort(o.place); err != nil {
		return nil, fmt.Errorf("%q is not of the form host:port; see --help", o.place)
	}
	return o, nil
}
