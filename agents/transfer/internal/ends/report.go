// Package ends is the two ends of a move: the one beside the QEMU that sends, and the one beside the QEMU that waits.
package ends

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"weft/agents/transfer/internal/codec"
	"weft/agents/transfer/internal/line"
	"weft/agents/transfer/internal/stream"
)

// Phase is where an end is.
type Phase string

// The phases, in order.
const (
	Starting  Phase = "starting"
	Waiting   Phase = "waiting"   // for the other end
	Ready     Phase = "ready"     // the ends are connected, and QEMU may begin
	Streaming Phase = "streaming" // QEMU's stream passes
	Ended     Phase = "ended"     // all of it has passed
	Failed    Phase = "failed"
)

// Status is what an end has done so far. Bytes and pages are totals, unless a comment says otherwise.
type Status struct {
	Move       string            `json:"move"`
	Phase      Phase             `json:"phase"`
	Error      string            `json:"error"`
	Seconds    float64           `json:"seconds"`    // since the start
	Pages      map[string]uint64 `json:"pages"`      // operations by kind (codec.Op)
	Batches    map[string]uint64 `json:"batches"`    // by level of compression (codec.Level)
	Stream     int               `json:"stream"`     // bytes of QEMU's stream
	Left       int               `json:"left"`       // bytes that known pages and deltas left to compress
	Wire       int               `json:"wire"`       // bytes of batches
	Packing    float64           `json:"packing"`    // seconds of a processor that compression has taken
	Processor  float64           `json:"processor"`  // seconds of a processor that this end has taken
	Backlog    int               `json:"backlog"`    // bytes that the line has to carry until all that QEMU has sent is there, now
	Flying     int               `json:"flying"`     // bytes of batches on their way, now
	Bandwidth  float64           `json:"bandwidth"`  // bytes per second that the other end takes, now
	RoundTrip  float64           `json:"round_trip"` // seconds, the shortest
	Repeated   float64           `json:"repeated"`   // bytes on the line for a page that was sent before, lately; if there was none, for any literal
	Fast       bool              `json:"fast"`       // whether the line has been so fast that saving bytes costs time
	Wrong      int               `json:"wrong"`      // batches that had to come again
	Collisions uint64            `json:"collisions"` // pages with the same hash and other bytes
	References int               `json:"references"` // reference files that both ends have
	Kept       bool              `json:"kept"`       // whether the mirror of an earlier stay is used
}

// Report collects a status. It may be used by several goroutines.
type Report struct {
	mu       sync.Mutex
	status   Status
	began    time.Time
	counts   codec.Counts
	levels   map[codec.Level]uint64
	repeated lately // bytes on the line for each page that was sent before
	ratio    lately // bytes on the line for each byte that is compressed
	packed   int    // bytes that are to go on the line
	window   *line.Window
	encoded  atomic.Int64 // bytes that are to be compressed
}

// NewReport begins the report of a move.
func NewReport(move string) *Report {
	return &Report{status: Status{Move: move, Phase: Starting}, began: time.Now(), levels: map[codec.Level]uint64{}}
}

// Reached says that the end is in that phase.
func (r *Report) Reached(phase Phase) { r.change(func(s *Status) { s.Phase = phase }) }

// Agreed says what the ends have in common.
func (r *Report) Agreed(agreed line.Greeted) {
	r.change(func(s *Status) { s.References, s.Kept = len(agreed.References), agreed.Kept })
}

// Failed says why the end has failed.
func (r *Report) Failed(reason error) {
	r.change(func(s *Status) { s.Phase, s.Error = Failed, reason.Error() })
}

func (r *Report) change(how func(*Status)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	how(&r.status)
}

// compressed accounts for a batch that was compressed to so many bytes, and is to go on the line.
func (r *Report) compressed(b *codec.Batch, level codec.Level, wire int, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Add(b.Counts)
	r.levels[level]++
	r.status.Stream += len(b.Stream)
	r.status.Left += b.Len()
	r.status.Wire += wire
	r.status.Packing += took.Seconds()
	r.packed += wire
	r.encoded.Add(-int64(b.Len()))
	now, each := time.Now(), float64(wire)/float64(max(b.Len(), 1))
	r.ratio.add(now, float64(b.Len()), float64(wire))
	r.repeated.add(now, float64(b.Repeated.Pages), each*float64(b.Repeated.Literals))
}

// departed says that so many bytes of a batch are on their way.
func (r *Report) departed(wire int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.packed -= wire
}

// collided says how many pages had the hash of another one so far.
func (r *Report) collided(pages uint64) { r.change(func(s *Status) { s.Collisions = pages }) }

// decoded accounts for a batch that came.
func (r *Report) decoded(counts codec.Counts, stream, wire int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Add(counts)
	r.status.Stream += stream
	r.status.Wire += wire
}

// Status returns the status now.
func (r *Report) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.status
	s.Seconds = time.Since(r.began).Seconds()
	s.Pages, s.Batches = map[string]uint64{}, map[string]uint64{}
	for _, op := range codec.Ops() {
		s.Pages[op.String()] = r.counts[op]
	}
	for _, level := range codec.Levels() {
		s.Batches[level.String()] = r.levels[level]
	}
	s.Repeated, s.Processor = r.repeated.each(stream.PageSize*r.ratio.each(1)), taken()
	if r.window != nil {
		s.Flying, s.Bandwidth, s.RoundTrip = r.window.Flying(), r.window.Rate(), r.window.RoundTrip().Seconds()
		s.Fast = r.window.WasFast()
		s.Backlog = s.Flying + r.packed + int(float64(r.encoded.Load())*r.ratio.each(1))
	}
	return s
}

// taken returns the seconds of a processor that this process has taken.
func taken() float64 {
	var used unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &used) // cannot fail for oneself
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}

// JSON returns the status as one line.
func (r *Report) JSON() []byte {
	text, err := json.Marshal(r.Status())
	if err != nil {
		panic(err) // numbers and texts can always be written
	}
	return append(text, '\n')
}
