package event

// This file splits the objects of a journal line without building values. Its input is valid JSON. It accepts only the
// form that this engine writes, without white space; callers leave all else to encoding/json.

// eachMember calls each with the name and the value of every member of an object, until each returns false. It reports
// whether it has read the whole object.
func eachMember(b []byte, each func(name, value []byte) bool) bool {
	if b[0] != '{' {
		return false
	}
	for i := 0; b[i+1] == '"'; {
		colon := skipString(b, i+1)
		if b[colon] != ':' || b[colon+1] <= ' ' {
			return false
		}
		end := skipValue(b, colon+1)
		if b[end-1] <= ' ' || !each(b[i+2:colon-1], b[colon+1:end]) {
			return false
		}
		if i = end; b[i] == '}' {
			return i == len(b)-1
		}
	}
	return false
}

// skipValue returns the index of the comma or bracket behind the value at b[i].
func skipValue(b []byte, i int) int {
	for depth := 0; ; i++ {
		switch b[i] {
		case '"':
			i = skipString(b, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
}

// skipString returns the index after the string at b[i].
func skipString(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}
