package process

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		if diff := cmp.Diff(tt.want, got); diff != "" || ok != tt.ok {
			t.Errorf("ParseMarker(%q) ok %v (-want +got):\n%s", tt.in, ok, diff)
		}
	}
}

func TestNewMarkerNamesThisProcess(t *testing.T) {
	m := NewMarker("auth/r1")
	if m.Run != "auth/r1" || m.PID != os.Getpid() {
		t.Errorf("NewMarker = %+v, want this process's", m)
	}
	back, ok := ParseMarker(m.String())
	if diff := cmp.Diff(m, back); diff != "" || !ok {
		t.Errorf("round trip, ok %v (-want +got):\n%s", ok, diff)
	}
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
