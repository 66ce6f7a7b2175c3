package fetch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"

	"weft/agents/transfer/internal/images/imagetest"
	"weft/agents/transfer/internal/images/oras"
	"weft/agents/transfer/internal/images/source"
)

// rig is a directory of images, and what the runs there have said.
type rig struct {
	t         *testing.T
	directory string

	mu       sync.Mutex
	warnings []string
}

func newRig(t *testing.T) *rig { return &rig{t: t, directory: t.TempDir()} }

// from returns a registry as a source of that name.
func (g *rig) from(name string, registry *imagetest.Registry) *source.Source {
	g.t.Helper()
	repository, err := oras.NewRepository(registry.Repository(), "", true, source.Transport())
	if err != nil {
		g.t.Fatal(err)
	}
	made := source.Registry(repository)
	made.Name = name
	return made
}

// end is the last line of the progress.
type end struct {
	Bytes, Total int64
	Fetched      map[string]int64
	Done         bool
}

func (g *rig) options(image *imagetest.Image, sources ...*source.Source) Options {
	return Options{
		Image: "web", Digest: image.Digest, Directory: g.directory, Sources: sources, Most: -1, Output: &bytes.Buffer{},
		Warn: func(format string, args ...any) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.warnings = append(g.warnings, fmt.Sprintf(format, args...))
		},
	}
}

// run runs a fetch, and returns its last line if it has come to its end.
func (g *rig) run(ctx context.Context, o Options) (end, error) {
	err := Run(ctx, o)
	lines := strings.Split(strings.TrimSpace(o.Output.(*bytes.Buffer).String()), "\n")
	var last end
	if err == nil {
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || !last.Done || last.Bytes != last.Total {
			g.t.Errorf("the last of the lines %q: %v", lines, err)
		}
	}
	return last, err
}

// fetch fetches an image as "web", which has to succeed, and returns how many bytes came from each source.
func (g *rig) fetch(image *imagetest.Image, sources ...*source.Source) map[string]int64 {
	g.t.Helper()
	last, err := g.run(g.t.Context(), g.options(image, sources...))
	if err != nil {
		g.t.Error(err)
		return nil
	}
	g.inPlace(image)
	return last.Fetched
}

// inPlace fails the test unless the image is in place as "web", and no work is left.
func (g *rig) inPlace(image *imagetest.Image) {
	g.t.Helper()
	image.Check(g.t, filepath.Join(g.directory, "web"))
	if entries, err := filepath.Glob(filepath.Join(g.directory, ".*")); err != nil || len(entries) > 0 {
		g.t.Errorf("%v is left, %v", entries, err)
	}
}

// fails runs a fetch that has to fail with a text, and returns the error.
func (g *rig) fails(text string, o Options) error {
	g.t.Helper()
	_, err := g.run(g.t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), text) {
		g.t.Errorf("error %v, not %q", err, text)
	}
	return err
}

// warned fails the test unless there was one warning, with that text, or none if that is empty.
func (g *rig) warned(text string) {
	g.t.Helper()
	if text == "" && len(g.warnings) > 0 || text != "" && (len(g.warnings) != 1 || !strings.Contains(g.warnings[0], text)) {
		g.t.Errorf("warnings %q, not %q", g.warnings, text)
	}
}

// part returns how many bytes of a blob are there.
func (g *rig) part(of digest.Digest) int64 {
	info, err := os.Stat(filepath.Join(coming(g.directory, "web"), parts, of.Encoded()))
	if err != nil {
		g.t.Error(err)
		return 0
	}
	return info.Size()
}
