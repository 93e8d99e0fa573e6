package manual

import "testing"

// No text in a page is a roff request, and copied text equals the written text.
func TestEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		".TH is no request":     `\&.TH is no request`,
		"'quoted'":              `\&\(aqquoted\(aq`,
		`a\b`:                   `a\eb`,
		"--flag=`x` ~/y ^z":     `\-\-flag=\(gax\(ga \(ti/y \(haz`,
		"…":                     `\[u2026]`,
		"two\tand\nthree\x1b[m": "two and three[m",
	} {
		if got := escaped(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	if got, want := quoted(`say "it"`), `"say \(dqit\(dq"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
