package images

import (
	"errors"
	"fmt"
	"testing"
)

func TestNamesAreThoseOfMachinesAndImages(t *testing.T) {
	for name, good := range map[string]bool{
		"web": true, "debian-13": true, "9front": true, "a": true,
		"": false, "-web": false, "web-": false, "Web": false, ".web.coming": false, "a/b": false, "..": false, "web\n": false,
	} {
		if IsName(name) != good {
			t.Errorf("%q: %v", name, !good)
		}
	}
}

func TestARefusalIsKnownThroughWrapping(t *testing.T) {
	if err := fmt.Errorf("web: %w", Refuse("%d bytes", 5)); !IsRefused(err) || err.Error() != "web: 5 bytes" {
		t.Error(err)
	}
	if IsRefused(errors.New("the network")) {
		t.Error("another error")
	}
}

func TestABandwidthIsInBits(t *testing.T) {
	for bits, burst := range map[int64]int{8000: 512, 320_000: 2000, 1e9: Chunk} {
		if made := Bandwidth(bits); float64(made.Limit()) != float64(bits)/8 || made.Burst() != burst {
			t.Errorf("%d bit/s: %v bytes a second, %d at once", bits, made.Limit(), made.Burst())
		}
	}
}
