package serve

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/time/rate"
)

func head(w http.ResponseWriter, kind string, of ocispec.Descriptor) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Docker-Content-Digest", of.Digest.String())
	w.Header().Set("ETag", strconv.Quote(of.Digest.String()))
}

// refuse answers with an error as the distribution API has them.
func refuse(w http.ResponseWriter, status int, code string) {
	type one struct {
		Code string `json:"code"`
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string][]one{"errors": {{code}}})
}

// working tells the client that an answer is being made, so that it does not give up.
func working(w http.ResponseWriter) {
	extend(w)
	w.WriteHeader(http.StatusProcessing)
}

// linger is how long a client may take nothing.
const linger = 2 * time.Minute

// extend gives the client time to take more.
func extend(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(linger)) // a recorder of tests has none
}

// paced is content that leaves no faster than a limit allows.
type paced struct {
	ctx context.Context
	w   http.ResponseWriter
	io.ReadSeeker
	limit *rate.Limiter
}

func (p *paced) Read(data []byte) (int, error) {
	n, err := p.ReadSeeker.Read(data[:min(len(data), p.limit.Burst())])
	if waiting := p.limit.WaitN(p.ctx, n); waiting != nil {
		return 0, waiting
	}
	extend(p.w)
	return n, err
}
