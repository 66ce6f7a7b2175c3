package codec

import (
	"errors"
	"runtime"
	"runtime/debug"
)

// ErrMirror says that the mirror's file takes or gives no page. The file has holes, and is mapped, so that the kernel has
// no other way to say so than a fault (mmap(2), SIGBUS).
var ErrMirror = errors.New("no space left on device for the mirror, or the device fails")

// faults returns what a function defers that uses the mirror: a fault there ends it with ErrMirror, not the process.
func faults(err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		switch found := recover().(type) {
		case nil:
		case interface {
			runtime.Error
			Addr() uintptr
		}:
			*err = ErrMirror
		default:
			panic(found)
		}
	}
}
