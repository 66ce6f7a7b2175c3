package ends

import (
	"fmt"
	"runtime/debug"
)

// lost says that a mapped file cannot be read or written.
type lost struct{ address uintptr }

func (l *lost) Error() string {
	return fmt.Sprintf("a mirror or reference file cannot be accessed at %#x: is its disk full, or was it cut?", l.address)
}

// guarded returns work that fails, and does not end the process, when a mapped file cannot be read or written: its disk
// is full or broken, or somebody has cut it.
func guarded(work func() error) func() error {
	return func() (err error) {
		debug.SetPanicOnFault(true)
		defer func() {
			found := recover()
			if found == nil {
				return
			}
			fault, is := found.(interface{ Addr() uintptr })
			if !is {
				panic(found)
			}
			err = &lost{fault.Addr()}
		}()
		return work()
	}
}
