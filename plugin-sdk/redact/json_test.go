package redact_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

func TestJSON(t *testing.T) {
	r := redact.New([]string{"A_TOKEN=xyzzy-plugh", `Q_SECRET=with "quotes"`})
	for _, tt := range []struct{ name, doc, all, agent string }{
		{"nothing", `{"a": [1, "b", null],  "tokens": "many"}`, `{"a": [1, "b", null],  "tokens": "many"}`, `{"a": [1, "b", null],  "tokens": "many"}`},
		{"a value", `{"b":"x","a":["say xyzzy-plugh",2.50]}`, `{"b":"x","a":["say [REDACTED]",2.50]}`, `{"b":"x","a":["say [REDACTED]",2.50]}`},
		{"a name", `{"password":"hunter2","n":1}`, `{"password":"[REDACTED]","n":1}`, `{"password":"hunter2","n":1}`},
		{"a list", `{"secrets":["one","two"]}`, `{"secrets":["[REDACTED]","[REDACTED]"]}`, `{"secrets":["one","two"]}`},
		{"a name that is one", `{"xyzzy-plugh":1}`, `{"[REDACTED]":1}`, `{"[REDACTED]":1}`},
		{"escapes", `{"a":"with \u0022quotes\u0022 <b>","b":"<\u00e9>"}`, `{"a":"[REDACTED] <b>","b":"<\u00e9>"}`, `{"a":"[REDACTED] <b>","b":"<\u00e9>"}`},
		{"a key in escapes", `["\u0067hp_` + digits + `"]`, `["[REDACTED]"]`, `["[REDACTED]"]`},
		{"a reference", `{"token":"${A_TOKEN}"}`, `{"token":"${A_TOKEN}"}`, `{"token":"${A_TOKEN}"}`},
		{"a number", `{"pin_token":1234567}`, `{"pin_token":1234567}`, `{"pin_token":1234567}`},
		{"a text", `"xyzzy-plugh"`, `"[REDACTED]"`, `"[REDACTED]"`},
		{"no JSON", `{"a": xyzzy-plugh`, `{"a": [REDACTED]`, `{"a": [REDACTED]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(r.JSON([]byte(tt.doc))); got != tt.all {
				t.Errorf("own\n got %s\nwant %s", got, tt.all)
			}
			if got := string(r.ForAgent().JSON([]byte(tt.doc))); got != tt.agent {
				t.Errorf("agent\n got %s\nwant %s", got, tt.agent)
			}
		})
	}
}

func TestJSONFunc(t *testing.T) {
	r := redact.New([]string{"A_TOKEN=xyzzy-plugh"})
	doc := `{"id":"xyzzy-plugh","left":{"a":["xyzzy-plugh","]"]},"names":{"xyzzy-plugh":"xyzzy-plugh"},"all":{"xyzzy-plugh":"xyzzy-plugh"}}`
	want := `{"id":"xyzzy-plugh","left":{"a":["xyzzy-plugh","]"]},"names":{"xyzzy-plugh":"[REDACTED]"},"all":{"[REDACTED]":"[REDACTED]"}}`
	got := r.JSONFunc([]byte(doc), func(names []string) redact.Treatment {
		switch {
		case slices.Equal(names, []string{"id"}), len(names) > 0 && names[0] == "left":
			return redact.Keep
		case len(names) == 0, names[0] == "names":
			return redact.RedactValues
		}
		return redact.RedactAll
	})
	if string(got) != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func FuzzJSON(f *testing.F) {
	f.Add(`{"a":["xyzzy-plugh",{"password":"b"}],"c":1e3}`)
	f.Add("[[]] ")
	r := redact.New(environ)
	f.Fuzz(func(t *testing.T, doc string) {
		got := r.JSON([]byte(doc))
		if json.Valid([]byte(doc)) != json.Valid(got) && json.Valid([]byte(doc)) {
			t.Fatalf("no longer JSON: %q of %q", got, doc)
		}
		if again := r.JSON(slices.Clone(got)); !bytes.Equal(again, got) {
			t.Errorf("not idempotent: %q, then %q", got, again)
		}
		if json.Valid(got) && strings.Contains(string(got), "xyzzy-plugh") && !strings.Contains(string(got), "${xyzzy") {
			t.Errorf("the value is left in %q", got)
		}
	})
}

// The part of a secret that remains in a truncated text is redacted as well.
func TestCut(t *testing.T) {
	r := redact.New([]string{"A_TOKEN=xyzzy-plugh"})
	for text, want := range map[string]string{
		"say xyzzy-p…": "say [REDACTED]…", "…y-plugh said": "…[REDACTED] said", "push ghp_0123456…": "push [REDACTED]…", "id AKIA0123…": "id [REDACTED]…",
		"xyz… is short": "xyz… is short", "so it is…": "so it is…",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// In the text of an agent, values beside secret names stay; known values and keys with a known
// beginning are redacted.
func TestAgent(t *testing.T) {
	r := redact.New([]string{"A_TOKEN=xyzzy-plugh"}).ForAgent()
	for text, want := range map[string]string{
		`password = os.Getenv("PASSWORD")`:                                            `password = os.Getenv("PASSWORD")`,
		"TOKEN=abc DB_PASSWORD=hunter2 Bearer abc.def-12345":                          "TOKEN=abc DB_PASSWORD=hunter2 Bearer abc.def-12345",
		"api_key: 0123456789ab https://a:b@c/?api_key=abc":                            "api_key: 0123456789ab https://a:b@c/?api_key=abc",
		"TOKEN=xyzzy-plugh":                                                           "TOKEN=[REDACTED]",
		"ghp_" + digits + " AKIAIOSFODNN7EXAMPLE sk_live_" + digits + " sk-" + digits: "[REDACTED] [REDACTED] [REDACTED] [REDACTED]",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3":                       "[REDACTED]",
		"a\n" + pem + "\nb":                                                           "a\n[REDACTED]\nb",
		"${A_TOKEN} stays":                                                            "${A_TOKEN} stays",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q\n got %q\nwant %q", text, got, want)
		}
	}
	if got := r.Field("password", "hunter2"); got != "hunter2" {
		t.Errorf("a field of an agent is guessed at by its name: %q", got)
	}
}

func TestMatching(t *testing.T) {
	r := redact.New(nil).WithPatterns([]*regexp.Regexp{regexp.MustCompile(`acme-[0-9]{4}`), regexp.MustCompile(`ticket (\w+) of`)})
	for _, r := range []*redact.Redactor{r, r.ForAgent()} {
		if got, want := r.Text("acme-1234 and ticket T1000 of mine, acme-12"), "[REDACTED] and ticket [REDACTED] of mine, acme-12"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got, want := string(r.JSON([]byte(`{"a":"acme-1234"}`))), `{"a":"[REDACTED]"}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestFind(t *testing.T) {
	r := redact.New([]string{"A_TOKEN=xyzzy-plugh"}).ForAgent().WithPatterns([]*regexp.Regexp{regexp.MustCompile(`acme-[0-9]{4}`)})
	text := "one\ntwo ghp_" + digits + "\n" + pem + "\n${A_TOKEN} xyzzy-plugh acme-1234\n"
	want := []redact.Finding{{2, "github-token"}, {3, "private-key"}, {7, "variable A_TOKEN"}, {7, "pattern 1"}}
	if got := r.Find(text); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
