package redact_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// pem is a made-up private key in file format.
const pem = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU=\nAAAEb25lAAAAAAAAAAE=\n-----END OPENSSH PRIVATE KEY-----"

var digits = strings.Repeat("0123456789", 5)

// U180, REQUIREMENTS C5: each rule redacts secrets and keeps similar texts.
func TestRules(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"AWS key id", "id AKIAIOSFODNN7EXAMPLE used", "id [REDACTED] used"},
		{"GitHub token", "push with ghp_" + digits + " failed", "push with [REDACTED] failed"},
		{"Stripe key", "sk_live_" + digits, "[REDACTED]"},
		{"model key", "key sk-ant-api03-" + digits + ".", "key [REDACTED]."},
		{"model key in quotes", `"sk-` + digits + `"`, `"[REDACTED]"`},
		{"no model key", "disk-usage-of-the-whole-machine-is-high, task-of-some-twenty-letters", "disk-usage-of-the-whole-machine-is-high, task-of-some-twenty-letters"},
		{"JWT", "got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_X", "got [REDACTED]"},
		{"bearer", "Authorization: Bearer abc.def-123", "Authorization: Bearer [REDACTED]"},
		{"basic", "authorization: Basic dXNlcjpwYXNz", "authorization: Basic [REDACTED]"},
		{"assignment", "env: GITHUB_TOKEN=abc MY_KEY='two words' PATH=/bin", "env: GITHUB_TOKEN=[REDACTED] MY_KEY='[REDACTED]' PATH=/bin"},
		{"counts and switches", "MAX_TOKENS=4096 USE_TOKENS=false", "MAX_TOKENS=4096 USE_TOKENS=false"},
		{"password", "password: hunter2 for user", "password: [REDACTED] for user"},
		{"password in quotes", `passwd = "two words" ok`, `passwd = "[REDACTED]" ok`},
		{"password in JSON in Go's quotes", `"{\"password\":\"hunter2\",\"a\":1}"`, `"{\"password\":\"[REDACTED]\",\"a\":1}"`},
		{"a line that ends in password", "Enter password:\nNext line", "Enter password:\nNext line"},
		{"working directory", "PWD=/home/me/project OLDPWD=/tmp", "PWD=/home/me/project OLDPWD=/tmp"},
		{"connection", "Server=db;User=sa;Pwd=p4ss;Port=1", "Server=db;User=sa;Pwd=[REDACTED];Port=1"},
		{"api key", "api-key: 0123456789ab", "api-key: [REDACTED]"},
		{"short api key", "api_key: none", "api_key: none"},
		{"aws secret", "aws_secret_access_key = wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY00", "aws_secret_access_key = [REDACTED]"},
		{"URL parameter", "GET https://h/x?api_key=abc&q=1", "GET https://h/x?api_key=[REDACTED]&q=1"},
		{"URL user", "clone https://me:s3cret@h/x.git", "clone https://me:[REDACTED]@h/x.git"},
		{"URL password with @", "clone https://me:s3@cret@h/x.git", "clone https://me:[REDACTED]@h/x.git"},
		{"URL port", "http://localhost:8080/a@b", "http://localhost:8080/a@b"},
		{"JSON member", `{"clientSecret": "abc", "input_tokens": 12, "max_tokens": "8000", "author": "me"}`, `{"clientSecret": "[REDACTED]", "input_tokens": 12, "max_tokens": "8000", "author": "me"}`},
		{"private key", "a\n" + pem + "\nb", "a\n[REDACTED]\nb"},
		{"private key in one line", `key "` + strings.ReplaceAll(pem, "\n", `\n`) + `" end`, `key "[REDACTED]" end`},
		{"private key without its end", strings.TrimSuffix(pem, "-----END OPENSSH PRIVATE KEY-----"), "[REDACTED]"},
		{"private key without its beginning", pem[60:] + "\nb", "[REDACTED]\nb"},
		{"public key", "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----", "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----"},
		{"references", "password=${DB_PASSWORD} TOKEN=${TOKEN} Bearer ${A_LONG_TOKEN_NAME}", "password=${DB_PASSWORD} TOKEN=${TOKEN} Bearer ${A_LONG_TOKEN_NAME}"},
		{"umlauts around", "für ghp_" + digits + " größer", "für [REDACTED] größer"},
		{"nothing", "the judge said stop: confidence 0.9", "the judge said stop: confidence 0.9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r redact.Redactor
			if got := r.Text(tt.text); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestValues(t *testing.T) {
	r := redact.New([]string{
		"DB_PASSWORD=correct horse", "DEPLOY_TOKEN=xyzzy-plugh", "LONGER_TOKEN=xyzzy-plugh-more", "PIN_SECRET=1234", "MAX_THINKING_TOKENS=notasecret",
		"PWD=/home/me", "SSH_AUTH_SOCK=/tmp/agent.1", "GIT_AUTHOR_NAME=Ann Author", "EDITOR=vi-the-editor", "USE_AUTH=false",
		`QUOTED_SECRET=with "quotes"`, "CLIENT_SECRET=first-line-x\nsecond-line-y", "ODD_SECRET=REDACTED",
	})
	for _, tt := range []struct {
		text, want string
		count      int
	}{
		{"login with correct horse failed", "login with [REDACTED] failed", 1},
		{"xyzzy-plugh-more then xyzzy-plugh", "[REDACTED] then [REDACTED]", 2},
		{"1234 /home/me /tmp/agent.1 Ann Author vi-the-editor notasecret false", "1234 /home/me /tmp/agent.1 Ann Author vi-the-editor notasecret false", 0},
		{`{"a":"with \"quotes\""}`, `{"a":"[REDACTED]"}`, 1},
		{"only second-line-y came", "only [REDACTED] came", 1},
		{"[REDACTED] stays", "[REDACTED] stays", 0},
		{"${xyzzy} ${DEPLOY_TOKEN}", "${xyzzy} ${DEPLOY_TOKEN}", 0},
	} {
		got, n := r.Count(tt.text)
		if got != tt.want || n != tt.count {
			t.Errorf("%q: got %q (%d), want %q (%d)", tt.text, got, n, tt.want, tt.count)
		}
	}
}

// C15: a variable is secret by its name, or by the form of its value.
func TestIsSecretVariable(t *testing.T) {
	for _, entry := range []string{
		"DB_PASS=a", "SSHPASS=a", "PGPASSWORD=a", "GH_PAT=a", "SENTRY_DSN=a", "SIGNING_KEY=a", "KEY=a", "AWS_SECRET_ACCESS_KEY=a", "GOOGLE_CREDENTIALS=a", "REGISTRY_CREDS=a",
		"SLACK_WEBHOOK_URL=a", "DB_CONNECTION_STRING=a", "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE", "DATABASE_URL=postgres://me:p@h/db", "REDIS_URL=redis://:p@h:1",
		"CI=ghp_" + digits, "DEPLOY_PEM=" + pem,
	} {
		if name, value, _ := strings.Cut(entry, "="); !redact.IsSecretVariable(name, value) {
			t.Errorf("%s is no secret", entry)
		}
	}
	for _, entry := range []string{
		"PATH=/bin", "COMPASS=a", "KEYBOARD=a", "SSH_PUBLIC_KEY=a", "CACHE_KEY=a", "PATTERN=a", "AWS_REGION=a", "AWS_PROFILE=a", "HOME_URL=https://h:1/a@b", "GOPROXY=https://h,direct",
		"HTTPS_PROXY=http://me:p@h:1", "https_proxy=http://me:p@h:1", "SSH_AUTH_SOCK=/s", "GIT_CONFIG_KEY_0=core.pager",
	} {
		if name, value, _ := strings.Cut(entry, "="); redact.IsSecretVariable(name, value) {
			t.Errorf("%s is a secret", entry)
		}
	}
}

func TestTail(t *testing.T) {
	r := redact.New([]string{"A_TOKEN=xyzzy-plugh"})
	for _, tt := range []struct{ end, want string }{
		{"all of it xyzzy-plugh", "all of it [REDACTED]"},
		{"zy-plugh is half\nand xyzzy-plugh is all of it", "and [REDACTED] is all of it"},
		{"zy-plugh is half, and no other line is there\n", "is half, and no other line is there\n"},
		{"zy-plugh-is-half-and-no-other-word-is-there", ""},
	} {
		if got := r.Tail(tt.end, 30); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.end, got, tt.want)
		}
	}
}

func TestField(t *testing.T) {
	r := redact.New(nil)
	for _, tt := range []struct{ name, value, want string }{
		{"api_key", "abc", "[REDACTED]"},
		{"access-key", "abc", "[REDACTED]"},
		{"Authorization", "Basic x", "[REDACTED]"},
		{"token", "${TOKEN}", "${TOKEN}"},
		{"input_tokens", "12345678901234", "12345678901234"},
		{"path", "/a?token=abc", "/a?token=[REDACTED]"},
		{"secret", "", ""},
		{"secret_env", "MY_HMAC_KEY", "MY_HMAC_KEY"},
		{"key", "attempt:0/v1/r1/-/-/i3#1", "attempt:0/v1/r1/-/-/i3#1"},
	} {
		if got := r.Field(tt.name, tt.value); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A private key that arrives line by line is redacted. The text before and after the key stays.
func TestLines(t *testing.T) {
	text := "before -----BEGIN RSA PRIVATE KEY-----\nAAAA\nBBBB\n-----END RSA PRIVATE KEY----- after\nplain"
	l := redact.New(nil).Lines()
	var got []string
	for line := range strings.SplitSeq(text, "\n") {
		got = append(got, l.Line(line))
	}
	if s := strings.Join(got, "|"); s != "before [REDACTED]|[REDACTED]|[REDACTED]|[REDACTED] after|plain" {
		t.Errorf("got %s", s)
	}
}

// A key without an end does not hide the rest of the log.
func TestLinesWithoutTheEnd(t *testing.T) {
	l := redact.New(nil).Lines()
	l.Line("-----BEGIN PRIVATE KEY-----")
	for range 1000 {
		if l.Line("a log line") == "a log line" {
			return
		}
	}
	t.Error("the rest of the log is redacted")
}

func FuzzText(f *testing.F) {
	f.Add("password: hunter2 ${A} "+pem, "xyzzy-plugh")
	f.Add("AKIAIOSFODNN7EXAMPLE?token=a&b ghp_"+digits, "[REDACTED]")
	f.Add(`{"token":"ü"} Bearer aaaaaaaa`, "REDACTED]x")
	f.Add("-----BEGIN PRIVATE KEY-----", "-----E")
	f.Fuzz(func(t *testing.T, text, value string) {
		r := redact.New([]string{"A_SECRET=" + value})
		once, n := r.Count(text)
		if again, m := r.Count(once); again != once || m != 0 {
			t.Errorf("not idempotent: %q, then %q", once, again)
		}
		if (n == 0) != (once == text) {
			t.Errorf("%d secrets taken out of %q: %q", n, text, once)
		}
		if utf8.ValidString(text) && !utf8.ValidString(once) {
			t.Errorf("no longer valid UTF-8: %q", once)
		}
		if strings.Count(once, "${A}") != strings.Count(text, "${A}") {
			t.Errorf("references lost in %q", once)
		}
		if v := "xyzzy-" + value; len(value) < 50 && utf8.ValidString(v) && !strings.ContainsAny(v, "\n${}[") && strings.TrimSpace(v) == v {
			if got := redact.New([]string{"A_SECRET=" + v}).Text("<" + v + ">"); strings.Contains(got, v) {
				t.Errorf("the value is left: %q", got)
			}
		}
	})
}

// BenchmarkText redacts a line without secrets, because most lines have none.
func BenchmarkText(b *testing.B) {
	r := redact.New([]string{"A_TOKEN=0123456789abcdef", "B_SECRET=fedcba9876543210"})
	line := strings.Repeat("compiled package number of many, all is well; ", 6)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		r.Text(line)
	}
}

// Values in public texts are kept; other values are redacted.
func TestPublicValuesAreKept(t *testing.T) {
	all := redact.New([]string{"DB_PASSWORD=runner", "A_TOKEN=v4lue-of-mine"})
	narrowed := all.WithoutPublicValues("/home/runner/shop", "")
	const text = "/home/runner/shop has v4lue-of-mine"
	if got, want := narrowed.ForAgent().Text(text), "/home/runner/shop has [REDACTED]"; got != want {
		t.Errorf("got %s", got)
	}
	if got, want := all.Text(text), "/home/[REDACTED]/shop has [REDACTED]"; got != want {
		t.Errorf("r itself: %s, want %s", got, want)
	}
}
