package line

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// parting is how long an end that refuses waits until the other one has gone.
const parting = 2 * time.Second

// Version is that of the frames, batches and greetings. Both ends must have the same one.
const Version = 3

// Greeted is what both ends agree on.
type Greeted struct {
	// References are the digests of the reference files that both ends have, in the source's order.
	References []string
	// Kept says that both ends keep the same mirror of an earlier stay.
	Kept bool
	// Mirror is how many pages each end mirrors.
	Mirror int
}

// Has is what one end has.
type Has struct {
	Version int `json:"weft-transfer"`
	// Move is the name of the move.
	Move string `json:"move"`
	// References are digests of reference files.
	References []string `json:"references"`
	// Kept is the digest of the mirror of an earlier stay, or empty, and KeptPages how many pages it has.
	Kept      string `json:"kept"`
	KeptPages int    `json:"kept-pages"`
	// Mirror is how many pages this end can mirror.
	Mirror int `json:"mirror"`
}

const mostReferences = 64

// Greet exchanges greetings, the source's first. An end whose version or move is another refuses, with the reason, and
// so does one with a greeting that nobody can mean.
func (l *Line) Greet(own Has, source bool) (Greeted, error) {
	own.Version = Version
	if source {
		if err := l.greeting(own); err != nil {
			return Greeted{}, err
		}
	}
	frame, err := l.Read()
	if err != nil {
		return Greeted{}, err
	}
	var other Has
	if frame.Kind != Greeting || json.Unmarshal(frame.Bytes, &other) != nil {
		return Greeted{}, l.Refuse("this is no greeting of weft-transfer")
	}
	if reason := wrong(own, other); reason != "" {
		return Greeted{}, l.Refuse(reason)
	}
	if !source {
		if err := l.greeting(own); err != nil {
			return Greeted{}, err
		}
	}
	first, second := own, other
	if !source {
		first, second = other, own
	}
	return agree(first, second), nil
}

// Refuse tells the other end why this one ends the session, and returns that as an error. Bytes that the other end has sent
// meanwhile are read for a moment, until it has gone: a connection that is closed with unread bytes is reset (RFC 1122,
// section 4.2.2.13), and the reason would be lost.
func (l *Line) Refuse(reason string) error {
	refused := fmt.Errorf("the session is refused: %s", reason)
	l.refused.Store(&refused)
	if l.Write(Refusal, []byte(reason)) == nil {
		stop := time.AfterFunc(parting, func() { _ = l.conn.Close() })
		_, _ = io.Copy(io.Discard, l.conn)
		stop.Stop()
	}
	return refused
}

func (l *Line) greeting(own Has) error {
	bytes, err := json.Marshal(own)
	if err != nil {
		return err
	}
	return l.Write(Greeting, bytes)
}

func wrong(own, other Has) string {
	switch {
	case other.Version != Version:
		return fmt.Sprintf("one end has version %d of the protocol and the other one %d; install the same weft-transfer at both", other.Version, Version)
	case other.Move != own.Move:
		return fmt.Sprintf("one end is for move %.100q and the other one for %.100q", other.Move, own.Move)
	case other.Mirror < 0 || len(other.References) > mostReferences:
		return fmt.Sprintf("a greeting with %d references and a mirror of %d pages", len(other.References), other.Mirror)
	}
	return ""
}

// agree returns what both ends have. Pure.
func agree(source, destination Has) Greeted {
	agreed := Greeted{Mirror: min(source.Mirror, destination.Mirror)}
	agreed.Kept = source.Kept != "" && source.Kept == destination.Kept && max(source.KeptPages, destination.KeptPages) <= agreed.Mirror
	for _, digest := range source.References {
		if slices.Contains(destination.References, digest) && !slices.Contains(agreed.References, digest) {
			agreed.References = append(agreed.References, digest)
		}
	}
	return agreed
}
