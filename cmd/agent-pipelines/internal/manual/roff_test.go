package manual

import "testing"

// What stands in a page is what it says: nothing of it is a request, and what is copied from it is what was written.
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
