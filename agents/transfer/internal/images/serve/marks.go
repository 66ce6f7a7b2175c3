package serve

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"

	"weft/agents/transfer/internal/images/layout"
)

const (
	mostMarks = 10_000 // then all are forgotten, and blobs are verified again
	atOnce    = 2      // blobs that are verified at a time, as that takes processors from the guests
)

// state is a file's state at a time: if it changes, its content may have.
type state struct {
	device, inode  uint64
	size           int64
	mtime, changed unix.Timespec
	digest         digest.Digest
}

// mark is what is known of a state's content, as soon as it is done.
type mark struct {
	done chan struct{}
	err  error
}

// marks remembers which files have the content that they should.
type marks struct {
	warn   func(format string, args ...any)
	turns  chan struct{}
	breath time.Duration // between two signs that a blob is being verified

	mu    sync.Mutex
	known map[state]*mark
	said  map[string]bool
}

func newMarks(warn func(format string, args ...any)) *marks {
	return &marks{warn: warn, turns: make(chan struct{}, atOnce), breath: 5 * time.Second, known: map[state]*mark{}, said: map[string]bool{}}
}

// report warns of something that is not served, once.
func (m *marks) report(name string, err error) {
	m.mu.Lock()
	text := name + err.Error()
	again := m.said[text]
	if len(m.said) >= mostMarks {
		clear(m.said)
	}
	m.said[text] = true
	m.mu.Unlock()
	if !again {
		m.warn("%s is not served: %v", name, err)
	}
}

// verify returns an error unless a file has a blob's content. Until that is known it calls `waits` now and then.
func (m *marks) verify(ctx context.Context, file *os.File, blob ocispec.Descriptor, waits func()) error {
	now, err := stateOf(file, blob)
	if err != nil {
		return err
	}
	m.mu.Lock()
	found := m.known[now]
	if found == nil {
		var again *os.File
		if again, err = another(file); err == nil {
			if len(m.known) >= mostMarks {
				clear(m.known)
			}
			found = &mark{done: make(chan struct{})}
			m.known[now] = found
			// It goes on if this client leaves: it comes back for the blob, or another one does.
			go m.check(context.WithoutCancel(ctx), again, now, blob, found)
		}
	}
	m.mu.Unlock()
	if err != nil {
		return err
	}
	return found.wait(ctx, m.breath, waits)
}

// check hashes a file, and closes it.
func (m *marks) check(ctx context.Context, file *os.File, before state, blob ocispec.Descriptor, found *mark) {
	defer file.Close()
	m.turns <- struct{}{}
	err := layout.Verify(ctx, io.NewSectionReader(file, 0, blob.Size+1), blob)
	<-m.turns
	after, failed := stateOf(file, blob)
	if err = errors.Join(err, failed); err == nil && after != before {
		err = errors.New("it changes")
	}
	if err != nil {
		m.report(file.Name(), err)
	}
	if err != nil && !errors.Is(err, layout.ErrWrong) { // the next request may find it better
		m.mu.Lock()
		delete(m.known, before)
		m.mu.Unlock()
	}
	found.err = err
	close(found.done)
}

// wait waits until the mark is made.
func (f *mark) wait(ctx context.Context, breath time.Duration, waits func()) error {
	ticks := time.NewTicker(breath)
	defer ticks.Stop()
	for {
		select {
		case <-f.done:
			return f.err
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks.C:
			waits()
		}
	}
}

func stateOf(file *os.File, blob ocispec.Descriptor) (state, error) {
	var of unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &of); err != nil {
		return state{}, err
	}
	return state{of.Dev, of.Ino, of.Size, of.Mtim, of.Ctim, blob.Digest}, nil
}

// another returns the same open file, which stays open when this one is closed.
func another(file *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), file.Name()), nil
}
