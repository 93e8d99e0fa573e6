package crashtest

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// clean is a JSON value without the members that drop names, in which names are replaced and digests of files are held
// against the files.
func (r reader) clean(v any, drop []string) any {
	for _, at := range drop {
		dropAt(v, strings.Split(at, "."))
	}
	return r.settled(v)
}

// dropAt takes a member out of a value; * stands for any member or element.
func dropAt(v any, at []string) {
	switch v := v.(type) {
	case map[string]any:
		if len(at) == 1 {
			delete(v, at[0])
			return
		}
		for key, member := range v {
			if at[0] == "*" || at[0] == key {
				dropAt(member, at[1:])
			}
		}
	case []any:
		if len(at) > 1 && at[0] == "*" {
			for _, element := range v {
				dropAt(element, at[1:])
			}
		}
	}
}

// settled replaces names, and references to files by how they stand to the files.
func (r reader) settled(v any) any {
	switch v := v.(type) {
	case string:
		return r.plain(v)
	case []any:
		for i := range v {
			v[i] = r.settled(v[i])
		}
		return v
	case map[string]any:
		if name, digest, is := reference(v); is {
			return map[string]any{"path": r.plain(name), "file": r.standing(name, digest)}
		}
		settled := make(map[string]any, len(v))
		for key, member := range v {
			if key == "session" && member == r.session {
				member = theSession
			}
			settled[r.plain(key)] = r.settled(member)
		}
		return settled
	default:
		return v
	}
}

// reference reports whether a value is an [event.Ref].
func reference(v map[string]any) (name, digest string, is bool) {
	name, named := v["path"].(string)
	digest, digested := v["sha256"].(string)
	_, sized := v["size"]
	return name, digest, named && sized && (digested && len(v) == 3 || len(v) == 2)
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
