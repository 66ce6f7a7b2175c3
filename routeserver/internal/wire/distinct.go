package wire

// few is the largest number of elements that are compared with each other; longer lists use a map.
const few = 16

// distinct returns a list of elements of size bytes without repetitions, in the order of their first occurrence. It
// takes time in proportion to the list, and allocates a new list only if there is a repetition.
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

// contains reports whether an element is in a list.
func contains(list, one []byte) bool {
	for ; len(list) > 0; list = list[len(one):] {
		if string(list[:len(one)]) == string(one) {
			return true
		}
	}
	return false
}
