package fetch

import (
	"encoding/json"
	"io"
	"time"
)

// progress says as lines of JSON how much of an image is there.
type progress struct {
	output  io.Writer
	total   int64
	there   int64 // of whole blobs
	part    int64 // of the blob that comes
	source  string
	fetched map[string]int64
	said    time.Time
}

func newProgress(output io.Writer) *progress {
	return &progress{output: output, fetched: map[string]int64{}}
}

// came counts bytes of the present source; the blob that comes now has `part` bytes. Once a second it says so.
func (p *progress) came(n int, part int64) {
	p.part = part
	p.fetched[p.source] += int64(n)
	if now := time.Now(); now.Sub(p.said) >= time.Second {
		p.said = now
		p.say(struct {
			Bytes  int64  `json:"bytes"`
			Total  int64  `json:"total"`
			Source string `json:"source"`
		}{p.there + p.part, p.total, p.source})
	}
}

// done says that the image is in place.
func (p *progress) done() {
	p.say(struct {
		Bytes   int64            `json:"bytes"`
		Total   int64            `json:"total"`
		Fetched map[string]int64 `json:"fetched"`
		Done    bool             `json:"done"`
	}{p.there, p.total, p.fetched, true})
}

func (p *progress) say(line any) {
	_ = json.NewEncoder(p.output).Encode(line) // a reader that has gone does not stop the fetch
}
