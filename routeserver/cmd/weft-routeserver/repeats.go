package main

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Limits of lines of one kind in a window: from one source, which is the first value that a line names, and in all.
const (
	window   = time.Minute
	ofSource = 20
	ofKind   = 200
)

// repeats drops log lines that come too often and logs their number, so that no PE fills the log or displaces the lines
// about others. A kind is a message text, which is the program's own.
type repeats struct {
	slog.Handler
	counted *counted
}

type counted struct {
	sync.Mutex
	since   time.Time
	sources map[[2]string]int
	kinds   map[string]int
	leftOut map[string]int
}

func bounded(h slog.Handler) slog.Handler { return repeats{h, &counted{}} }

func (r repeats) Handle(ctx context.Context, line slog.Record) error {
	told, admitted := r.counted.admit(line)
	for message, number := range told {
		more := slog.NewRecord(line.Time, slog.LevelWarn, "more lines like this were left out within a minute", 0)
		more.AddAttrs(slog.String("line", message), slog.Int("number", number))
		if err := r.Handler.Handle(ctx, more); err != nil {
			return err
		}
	}
	if !admitted {
		return nil
	}
	return r.Handler.Handle(ctx, line)
}

func (r repeats) WithAttrs(attrs []slog.Attr) slog.Handler {
	return repeats{r.Handler.WithAttrs(attrs), r.counted}
}

func (r repeats) WithGroup(name string) slog.Handler {
	return repeats{r.Handler.WithGroup(name), r.counted}
}

// admit reports whether to write a line, and how many lines of each kind were dropped in the window before.
func (c *counted) admit(line slog.Record) (told map[string]int, admitted bool) {
	c.Lock()
	defer c.Unlock()
	if line.Time.Sub(c.since) >= window {
		told = c.leftOut
		c.since, c.sources, c.kinds, c.leftOut = line.Time, map[[2]string]int{}, map[string]int{}, map[string]int{}
	}
	source := [2]string{line.Message}
	line.Attrs(func(a slog.Attr) bool { source[1] = a.Value.String(); return false })
	if c.kinds[line.Message] >= ofKind || c.sources[source] >= ofSource {
		c.leftOut[line.Message]++
		return told, false
	}
	c.kinds[line.Message]++
	c.sources[source]++
	return told, true
}
