package main

import (
	"context"
	"sync"

	"weft/routeserver/internal/bmp"
)

// tell runs the BMP stations until the returned function is called, which waits for their last messages.
func tell(stations []*bmp.Station) (silence func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var told sync.WaitGroup
	for _, s := range stations {
		told.Go(func() { s.Run(ctx) })
	}
	return func() {
		cancel()
		told.Wait()
	}
}
