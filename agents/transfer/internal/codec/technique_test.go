package codec

import (
	"bytes"
	"testing"
)

func TestWhatIsLeftOutIsNotUsedAndTheBytesAreTheSame(t *testing.T) {
	for _, c := range []struct {
		without Techniques
		ops     []Op
	}{{Known, []Op{Copy}}, {Deltas, []Op{Same, Delta}}, {Known | Deltas, []Op{Copy, Same, Delta}}} {
		e, d := ends(1<<10, disk())
		e.Without = c.without
		want := add(t, e, records(1, blocks))
		got, counts, err := d.Decode(packed(t, e.Flush(), Stored))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("without %b: other bytes, error %v", c.without, err)
		}
		for _, op := range c.ops {
			if counts[op] != 0 {
				t.Errorf("without %b: %d operations %v", c.without, counts[op], op)
			}
		}
	}
}

func TestTechniquesHaveNames(t *testing.T) {
	if found, err := ParseTechniques("known,compression"); err != nil || found != Known|Compression {
		t.Errorf("%b, error %v", found, err)
	}
	for _, text := range []string{"", "zstd", "known,", "known deltas"} {
		if _, err := ParseTechniques(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
