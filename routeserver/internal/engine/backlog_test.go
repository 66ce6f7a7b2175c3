package engine

import "fmt"

// backlog makes a PE slow or quick again, or handles the queue of a slow one.
func (w *world) backlog() string {
	s := w.anySpeaker()
	for tries := 0; s != nil && !s.slow && tries < w.r.IntN(8); tries++ {
		s = w.anySpeaker()
	}
	switch {
	case s == nil:
		return "nothing"
	case !s.slow:
		s.slow = true
		return s.name + " becomes slow"
	}
	switch w.r.IntN(6) {
	case 0:
		s.slow = false
		return s.name + " catches up"
	case 1:
		s.take()
		return s.name + " begins to take what waits"
	case 2:
		s.drain()
		return s.name + " catches up for a moment"
	}
	was := s.peer.Queue.Backlog()
	s.peer.Queue.Compact()
	return fmt.Sprintf("the queue of %s is compacted from %d to %d", s.name, was, s.peer.Queue.Backlog())
}
