package subprocess

import (
	"strings"
	"testing"
)

func TestParseHandshakeLine(t *testing.T) {
	tests := []struct {
		line   string
		ok     bool
		faults int
	}{
		{"1|1|unix|/tmp/s|grpc|", true, 0},
		{"1|1|unix|/tmp/s|grpc", true, 0},
		{"1|1|unix|/tmp/s|grpc|MIIB|true\r", true, 0},
		{"2|1|unix|/tmp/s|grpc|", true, 1},
		{"1|2|tcp|127.0.0.1:1|netrpc|", true, 3},
		{"1|1|unix|/tmp/s", true, 1},
		{"hello", false, 0},
		{"", false, 0},
		{"a|b|c|d", false, 0},
	}
	for _, tt := range tests {
		g, ok := ParseHandshakeLine(tt.line)
		if ok != tt.ok || ok && len(g.Faults()) != tt.faults {
			t.Errorf("%q: got %+v, %t, faults %q", tt.line, g, ok, g.Faults())
		}
	}
}

func FuzzGreeting(f *testing.F) {
	f.Add("1|1|unix|/tmp/s|grpc|")
	f.Fuzz(func(t *testing.T, line string) {
		g, ok := ParseHandshakeLine(line)
		if ok && len(g.Faults()) == 0 && !strings.HasPrefix(strings.TrimSpace(line), "1|1|unix|"+g.Address) {
			t.Errorf("%q is taken for a handshake: %+v", line, g)
		}
	})
}
