package engine

import (
	"testing"
	"time"
)

func TestABrokenConnectionIsPutDownToTheLastSecondAlone(t *testing.T) {
	for _, c := range []struct {
		how          manner
		settle, want time.Duration
	}{
		{refused, 5 * time.Second, 5 * time.Second},
		{broken, 5 * time.Second, time.Second},
		{broken, 300 * time.Millisecond, 300 * time.Millisecond},
	} {
		if got := c.how.within(c.settle); got != c.want {
			t.Errorf("%v of %s: %s, not %s", c.how, c.settle, got, c.want)
		}
	}
}
