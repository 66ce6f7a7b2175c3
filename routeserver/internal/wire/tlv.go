package wire

// eachTLV walks a run of types of so many bytes, lengths of so many bytes and values. It stops when visit returns
// false. ok means that the run ends with a value, and that visit never returned false.
func eachTLV(run []byte, typeBytes, lengthBytes int, visit func(kind int, value []byte) bool) (ok bool) {
	head := typeBytes + lengthBytes
	for len(run) > 0 {
		if len(run) < head {
			return false
		}
		kind, n := int(number(run, typeBytes)), int(number(run[typeBytes:], lengthBytes))
		if len(run) < head+n || !visit(kind, run[head:head+n]) {
			return false
		}
		run = run[head+n:]
	}
	return true
}

// someTLVs returns a check that there is at least one TLV, and nothing else.
func someTLVs(typeBytes, lengthBytes int) func([]byte) bool {
	return func(v []byte) bool {
		return len(v) > 0 && eachTLV(v, typeBytes, lengthBytes, func(int, []byte) bool { return true })
	}
}
