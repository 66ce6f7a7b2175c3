package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// logger returns the log on standard error in the form that the options name.
func (o *options) logger() *slog.Logger {
	if o.objects {
		return slog.New(bounded(objects(os.Stderr, o.level))).With("logger", "weft-routeserver", "route_server", o.engine.Name)
	}
	return slog.New(bounded(slog.NewTextHandler(records{os.Stderr}, &slog.HandlerOptions{Level: o.level})))
}

// objects returns a handler that writes a record as a JSON object on one line, with the names that Weft's other programs
// use: time (UTC), level in lower case, message.
func objects(w io.Writer, level slog.Level) slog.Handler {
	return slog.NewJSONHandler(ascii{w}, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		switch {
		case len(groups) > 0:
		case a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime:
			a.Value = slog.TimeValue(a.Value.Time().UTC())
		case a.Key == slog.LevelKey:
			a.Value = slog.StringValue(strings.Replace(strings.ToLower(a.Value.String()), "warn", "warning", 1))
		case a.Key == slog.MessageKey:
			a.Key = "message"
		}
		return a
	}})
}

// ascii is the destination of objects, which gets one per Write. It escapes DEL and all that is not ASCII, which occurs
// in texts alone, so that no text controls a terminal: slog takes some of these characters for printable.
type ascii struct{ io.Writer }

func (a ascii) Write(object []byte) (int, error) {
	text := make([]byte, 0, len(object)+64)
	for rest := object; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		rest = rest[size:]
		switch {
		case r < 0x7f:
			text = append(text, byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			text = fmt.Appendf(text, `\u%04x\u%04x`, high, low)
		default:
			text = fmt.Appendf(text, `\u%04x`, r)
		}
	}
	if _, err := a.Writer.Write(text); err != nil {
		return 0, err
	}
	return len(object), nil
}
