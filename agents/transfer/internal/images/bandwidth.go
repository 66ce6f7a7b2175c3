package images

import "golang.org/x/time/rate"

// Chunk is how many bytes go between two waits at most.
const Chunk = 64 << 10

// Bandwidth returns a limit of so many bits per second; 0: no limit. Wait for its burst at most.
func Bandwidth(bits int64) *rate.Limiter {
	if bits == 0 {
		return rate.NewLimiter(rate.Inf, Chunk)
	}
	// The bytes of 50 ms, so that each of many receivers hears something before it gives up.
	return rate.NewLimiter(rate.Limit(bits)/8, int(min(Chunk, max(bits/160, 512))))
}
