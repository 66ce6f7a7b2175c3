package fetch

import (
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
)

func equal(t *testing.T, found, wanted any) {
	t.Helper()
	if !reflect.DeepEqual(found, wanted) {
		t.Errorf("%v, not %v", found, wanted)
	}
}

// isOf reports whether a request is for a blob or manifest.
func isOf(r *http.Request, of digest.Digest) bool {
	return strings.HasSuffix(r.URL.Path, of.String())
}

// sends returns a hook that answers for one blob with that content, says that it has `length` bytes (negative: nothing),
// and then cuts the connection if it has fewer.
func sends(of digest.Digest, content []byte, length int) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !isOf(r, of) {
			return false
		}
		if length >= 0 {
			w.Header().Set("Content-Length", strconv.Itoa(length))
		}
		_, _ = w.Write(content)
		if length > len(content) {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		return true
	}
}
