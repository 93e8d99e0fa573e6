package screen

import (
	"testing"
	"time"
)

func TestClean(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "editing main.go", "editing main.go"},
		{"lines become one", "a\nb\r\n\tc", "a b c"},
		{"escape sequences lose their teeth", "\x1b[2Jgone\x07", "[2Jgone"},
		{"C1 controls too", "a\u009b2Jb", "a 2Jb"},
		{"no reversed text", "a\u202eb", "a b"},
		{"broken UTF-8", "a\xffb", "a b"},
		{"nothing", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			compare(t, tt.want, Clean(tt.in))
		})
	}
}

func TestLines(t *testing.T) {
	want := []string{"  deep [2J", "", "a  b", "end"}
	compare(t, want, Lines("  deep\x1b[2J\r\n\na\t b\nend "))
	compare(t, nil, Lines(""))
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		limit    int
		want     string
	}{
		{"fits", "abc", 3, "abc"},
		{"too long", "abcd", 3, "ab…"},
		{"wide runes count two", "日本語", 5, "日本…"},
		{"a wide rune does not stick out", "日本語", 4, "日…"},
		{"combining marks count nothing", "e\u0301e\u0301", 2, "e\u0301e\u0301"},
		{"no width at all", "abc", 0, ""},
		{"less than none", "abc", -3, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			compare(t, tt.want, Cut(tt.in, tt.limit))
		})
	}
}

func FuzzCut(f *testing.F) {
	f.Add("日本 \x1b[31m e\u0301", 7)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit %= 300
		if got := Columns(Cut(Clean(text), limit)); got > max(limit, 0) {
			t.Errorf("Cut(%q, %d) takes %d columns", text, limit, got)
		}
	})
}

func TestNumbers(t *testing.T) {
	got := []string{
		Age(-time.Second), Age(12 * time.Second), Age(5*time.Minute + 59*time.Second), Age(62 * time.Minute), Age(76 * time.Hour),
		DurationText(0), DurationText(340*time.Millisecond + 700*time.Microsecond), DurationText(12*time.Second + 340*time.Millisecond), DurationText(3723*time.Second + 400*time.Millisecond),
		Clock(7 * time.Second), Clock(3723 * time.Second), Count(7), Count(1234), Count(-1234567),
	}
	want := []string{"0s", "12s", "5m", "1h2m", "3d4h", "0s", "341ms", "12.3s", "1h2m3s", "0:07", "1:02:03", "7", "1,234", "-1,234,567"}
	compare(t, want, got)
}
