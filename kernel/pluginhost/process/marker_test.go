package process

import (
	"os"
	"strings"
	"testing"
)

func TestParseMarker(t *testing.T) {
	tests := []struct {
		in   string
		want Marker
		ok   bool
	}{
		{"auth/r1@412.99", Marker{"auth/r1", 412, 99}, true},
		{"mail@home@1.0", Marker{"mail@home", 1, 0}, true},
		{"@1.2", Marker{"", 1, 2}, true},
		{"", Marker{}, false},
		{"auth", Marker{}, false},
		{"auth@412", Marker{}, false},
		{"auth@-1.2", Marker{}, false},
		{"auth@0.2", Marker{}, false},
		{"auth@1.x", Marker{}, false},
	}
	for _, tt := range tests {
		got, ok := ParseMarker(tt.in)
		compare(t, tt.want, got)
		compare(t, tt.ok, ok)
	}
}

func TestNewMarkerNamesThisProcess(t *testing.T) {
	m := NewMarker("auth/r1")
	require(t, m.Run == "auth/r1" && m.PID == os.Getpid(), m)
	back, ok := ParseMarker(m.String())
	compare(t, m, back)
	require(t, ok, ok)
}

func FuzzParseMarker(f *testing.F) {
	for _, s := range []string{"auth/r1@412.99", "@1.0", "x@y@2.3", "a@1.2.3", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, ok := ParseMarker(s)
		if !ok {
			return
		}
		back, ok := ParseMarker(m.String())
		if !ok || back != m {
			t.Errorf("ParseMarker(%q) = %+v, which comes back as %+v, %v", s, m, back, ok)
		}
	})
}

func TestTailBuffer(t *testing.T) {
	tests := []struct {
		name   string
		size   int
		writes []string
		want   string
	}{
		{"nothing", 5, nil, ""},
		{"less than its size", 5, []string{"ab", "c"}, "abc"},
		{"exactly its size", 5, []string{"abcde"}, "abcde"},
		{"over its size in pieces", 5, []string{"abc", "def"}, "bcdef"},
		{"over its size at once", 5, []string{"x", "abcdefgh"}, "defgh"},
		{"a crash", 20, []string{"before\npan", "ic: x\nat y\n", "more than that\n", "and more\n"}, "panic: x\nat y\n"},
		{"a crash at once", 20, []string{"fatal error: x\nat y, and so on"}, "fatal error: x\n"},
		{"a crash without more", 20, []string{"long before\nlonger before\nfatal error: x"}, "fatal error: x"},
		{"a word of a crash", 20, []string{"no panic: x\n", "because of y\n"}, "nic: x\nbecause of y\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := tailBuffer{size: tt.size}
			for _, w := range tt.writes {
				n, err := r.Write([]byte(w))
				require(t, n == len(w) && err == nil, w, n, err)
			}
			compare(t, tt.want, r.String())
		})
	}
}

func TestFirstLine(t *testing.T) {
	long := strings.Repeat("x", maxFirstLine+10)
	tests := []struct {
		name   string
		pieces []string
		end    bool
		want   string
		done   bool
	}{
		{"in one piece", []string{"1|1|unix\nmore"}, false, "1|1|unix", true},
		{"in pieces", []string{"1|1", "|unix\r\n", "more\n"}, false, "1|1|unix", true},
		{"not yet complete", []string{"1|1"}, false, "1|1", false},
		{"cut off by the end", []string{"1|1"}, true, "1|1", true},
		{"too long", []string{long}, false, long[:maxFirstLine], true},
		{"nothing at all", nil, true, "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var l firstLine
			completed := 0
			for _, p := range tt.pieces {
				if l.add([]byte(p), false) {
					completed++
				}
			}
			if tt.end && l.add(nil, true) {
				completed++
			}
			compare(t, tt.want, l.text())
			compare(t, tt.done, completed == 1)
		})
	}
}
