package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"time"
)

// interim is how many times a source may say that it still works on an answer: a store hashes a large blob before it
// sends it for the first time, and says so every few seconds.
const interim = 500

// answer is an answer whose source is watched: while it is read, something has to come in time.
type answer struct {
	status int
	header http.Header
	length int64 // -1: unknown
	body   io.ReadCloser
	watch  *watch
}

// watch cancels a request whose source is silent.
type watch struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	silence time.Duration
}

func newWatch(ctx context.Context, silence time.Duration) *watch {
	w := &watch{silence: silence}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(silence, func() { w.cancel(fmt.Errorf("it has given nothing for %v", silence)) })
	return w
}

// explain replaces an error that follows from the cancelling.
func (w *watch) explain(err error) error {
	if cause := context.Cause(w.ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// ask sends a request for something of the image.
func (s *Source) ask(ctx context.Context, path string, header http.Header) (*answer, error) {
	w := newWatch(ctx, s.Silence)
	left := interim
	traced := httptrace.WithClientTrace(w.ctx, &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error {
		if left--; left < 0 {
			return errors.New("it does not come to an answer")
		}
		w.timer.Reset(w.silence)
		return nil
	}})
	request, err := http.NewRequestWithContext(traced, http.MethodGet, s.url+path, nil)
	if err == nil {
		request.Header = header
		var response *http.Response
		if response, err = s.do(request); err == nil {
			w.timer.Stop()
			return &answer{response.StatusCode, response.Header, response.ContentLength, response.Body, w}, nil
		}
	}
	w.timer.Stop()
	err = w.explain(err)
	w.cancel(nil)
	return nil, err
}

// Read reads the content. An end that comes too early is for the caller to see.
func (a *answer) Read(p []byte) (int, error) {
	a.watch.timer.Reset(a.watch.silence)
	n, err := a.body.Read(p)
	a.watch.timer.Stop()
	if err == nil || err == io.EOF {
		return n, err
	}
	if cause := context.Cause(a.watch.ctx); cause != nil {
		return n, cause
	}
	return n, &ofBlob{err} // the connection is cut
}

// Close ends the request, even if not all has been read.
func (a *answer) Close() error {
	a.watch.cancel(nil)
	return a.body.Close()
}
