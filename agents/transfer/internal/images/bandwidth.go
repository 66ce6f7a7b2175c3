package images

import "golang.org/x/time/rate"

// Chunk is how many bytes go between two waits at most.
const Chunk = 64 << 10

// Bandwidth returns a limit of so many bits per second; 0: no limit. Wait for its burst at most.
func Bandwidth(bits int64) *rate.Limiter {
	if bits == 0 {
		return rate.NewLimiter(rate.Inf, Chunk)
	}
	// A quarter of a second's bytes, so that a receiver hears something often enough.
	return rate.NewLimiter(rate.Limit(bits)/8, int(min(Chunk, max(bits/32, 512))))
}
