package wire

// few is up to how many elements of a list are compared with each other; more are looked up.
const few = 16

// distinct is a list of elements of size bytes without repetitions, in the order in which each came first. It takes time in
// proportion to the list, and makes a new one only where there is a repetition.
func distinct(list []byte, size int) []byte {
	var found map[string]struct{}
	if len(list) > few*size {
		found = make(map[string]struct{}, len(list)/size)
	}
	var kept []byte
	for at := 0; at < len(list); at += size {
		one, again := list[at:at+size], false
		if found == nil {
			again = contains(list[:at], one)
		} else {
			_, again = found[string(one)]
			found[string(one)] = struct{}{}
		}
		switch {
		case again && kept == nil:
			kept = append(make([]byte, 0, len(list)), list[:at]...)
		case !again && kept != nil:
			kept = append(kept, one...)
		}
	}
	if kept == nil {
		return list
	}
	return kept
}

// contains says whether an element is in a list of such.
func contains(list, one []byte) bool {
	for ; len(list) > 0; list = list[len(one):] {
		if string(list[:len(one)]) == string(one) {
			return true
		}
	}
	return false
}
