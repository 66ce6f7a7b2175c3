package connections

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Strangers limits the answers to callers without a token: `perSecond` to one address (IPv6: one /64), and ten times
// that at once.
type Strangers struct {
	perSecond rate.Limit
	most      int // addresses that are remembered

	mu   sync.Mutex
	seen map[netip.Addr]*rate.Limiter
}

// NewStrangers remembers up to `most` addresses; beyond that it forgets quiet ones, or any.
func NewStrangers(perSecond float64, most int) *Strangers {
	return &Strangers{perSecond: rate.Limit(perSecond), most: most, seen: map[netip.Addr]*rate.Limiter{}}
}

// Admit reports whether a stranger at an address and port (`http.Request.RemoteAddr`) gets an answer now.
func (s *Strangers) Admit(remote string, now time.Time) bool {
	peer := peerAt(remote)
	s.mu.Lock()
	defer s.mu.Unlock()
	limiter := s.seen[peer]
	if limiter == nil {
		s.makeRoom(now)
		limiter = rate.NewLimiter(s.perSecond, int(10*s.perSecond))
		s.seen[peer] = limiter
	}
	return limiter.AllowN(now, 1)
}

func (s *Strangers) makeRoom(now time.Time) {
	if len(s.seen) < s.most {
		return
	}
	for peer, limiter := range s.seen {
		if limiter.TokensAt(now) >= float64(limiter.Burst()) {
			delete(s.seen, peer)
		}
	}
	for peer := range s.seen {
		if len(s.seen) < s.most {
			return
		}
		delete(s.seen, peer)
	}
}
