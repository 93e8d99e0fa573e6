package redact

import (
	"regexp"
	"strings"
)

// rule finds one kind of secret. The patterns are those of REQUIREMENTS C5.
type rule struct {
	name string // what it finds, for people
	// hints are lower-case words one of which is in every text that the rule could find something in: looking
	// for them is much cheaper than the pattern. nil: in any text.
	hints []string
	// pattern finds it; the secret is the group that took part last, or all of it if there are no groups.
	pattern *regexp.Regexp
	// spares reports whether a match is none, nil if all are. It gets the text of the match and of the secret.
	spares func(match, secret string) bool
	// whole: it looks back as far as the text goes, and is no rule for a text that comes in pieces.
	whole bool
}

// prefixed are keys that are known by how they begin, wherever they stand.
var prefixed = []rule{
	{name: "private-key", hints: []string{"-----"}, pattern: regexp.MustCompile(
		`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?:.*?-----END [A-Z0-9 ]*PRIVATE KEY-----|[A-Za-z0-9+/=\s\\:,-]*)`)},
	// The end of a key whose beginning was cut off.
	{name: "private-key", hints: []string{"-----end "}, whole: true, pattern: regexp.MustCompile(`(?:[A-Za-z0-9+/=]|\s|\\[nr])*-----END [A-Z0-9 ]*PRIVATE KEY-----`)},
	{name: "aws-key-id", hints: []string{"akia"}, pattern: regexp.MustCompile(`AKIA[0-9A-Z]{16}`)},
	{name: "github-token", hints: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, pattern: regexp.MustCompile(`gh[pousr]_[A-Za-z0-9]{36,}`)},
	{name: "github-token", hints: []string{"github_pat_"}, pattern: regexp.MustCompile(`github_pat_[A-Za-z0-9_]{22,}`)},
	{name: "stripe-key", hints: []string{"sk_live_"}, pattern: regexp.MustCompile(`sk_live_[A-Za-z0-9]{24,}`)},
	{name: "model-key", hints: []string{"sk-"}, pattern: regexp.MustCompile(`(?:^|[^A-Za-z0-9])(sk-[A-Za-z0-9_-]{20,})`)},
	{name: "jwt", hints: []string{"eyj"}, pattern: regexp.MustCompile(`eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*`)},
}

// memberRule is the name of the rule for members of JSON objects in a text.
const memberRule = "member"

// named are values that stand beside a name which says what they are.
var named = []rule{
	{name: "bearer", hints: []string{"bearer"}, pattern: regexp.MustCompile(`(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{8,})`)},
	{name: "authorization", hints: []string{"authorization"}, pattern: regexp.MustCompile(
		`(?i)\bauthorization["']?\s*[:=]\s*["']?(?:(?:basic|digest|negotiate|token)\s+)?([^\s"',;]+)`), spares: schemeAlone},
	{name: "assignment", hints: []string{"key", "secret", "token", "password", "credential"}, pattern: regexp.MustCompile(
		`\b[A-Z0-9_]*(?:KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL)[A-Z0-9_]*=(?:"([^"]+)"|'([^']+)'|([^\s"'&;,]+))`), spares: plain},
	{name: "password", hints: []string{"password", "passwd", "pwd"}, pattern: regexp.MustCompile(
		`(?i)(?:password|passwd|\bpwd)["'\\]*[ \t]*[:=][ \t]*(?:"((?:[^"\\]|\\.)+)"|'([^']+)'|\\*["']?((?:[^\s"'\\;&]|\\[^"'])+))`), spares: workingDirectory},
	{name: "api-key", hints: []string{"api"}, pattern: regexp.MustCompile(
		`(?i)api[_-]?key["'\\]*[ \t]*[:=][ \t]*["'\\]*([^\s"'\\;&]{10,})`)},
	{name: "aws-secret-key", hints: []string{"aws_secret_access_key"}, pattern: regexp.MustCompile(
		`(?i)aws_secret_access_key["'\\]*[ \t]*[:=][ \t]*["'\\]*([A-Za-z0-9/+=]{40})`)},
	{name: "url-parameter", hints: []string{"?", "&"}, pattern: regexp.MustCompile(
		`(?i)[?&](?:api[_-]?key|access[_-]?token|token|secret|password|pwd)=([^\s"'&#]+)`)},
	{name: "url-password", hints: []string{"://"}, pattern: regexp.MustCompile(`://[^\s/:@"']*:([^\s/@"']+)@`)},
	// What is left of a key where our own text was cut to what fits.
	{name: "cut-key", hints: []string{ellipsis}, pattern: regexp.MustCompile(
		`((?:AKIA|gh[pousr]_|github_pat_|sk_live_|sk-|eyJ)[A-Za-z0-9_.-]{4,})` + ellipsis)},
	// A member of a JSON object, by the rule for names that Secret has.
	{name: memberRule, hints: []string{`"`}, pattern: regexp.MustCompile(
		`"([^"\\]{1,100})"\s*:\s*"((?:[^"\\]|\\.)+)"`), spares: openMember},
}

// schemeAlone spares the word before the credentials. Bearer tokens have a rule of their own.
func schemeAlone(_, secret string) bool {
	switch strings.ToLower(secret) {
	case "basic", "bearer", "digest", "negotiate", "token":
		return true
	}
	return false
}

// plain spares what no secret is: a switch or a count, as in MAX_TOKENS=4096.
func plain(_, value string) bool {
	switch strings.ToLower(value) {
	case "true", "false", "none", "null":
		return true
	}
	return len(value) < 10 && strings.Trim(value, "0123456789") == ""
}

// workingDirectory spares the shell's PWD and OLDPWD.
func workingDirectory(match, value string) bool {
	return strings.HasPrefix(match, "PWD=") && strings.HasPrefix(value, "/")
}

// openMember spares the members of objects whose names say nothing of a secret.
func openMember(match, value string) bool {
	name, _, _ := strings.Cut(match[1:], `"`)
	return !Secret(name) || plain(match, value)
}

// secretName are the words by which a name says that its value is a secret. "auth" is one, "author" is not.
var secretName = regexp.MustCompile(
	`(?i)passw|passphrase|pwd|secret|token(?:[^si]|$)|api[_-]?key|credential|bearer|private[_-]?key|access[_-]?key|auth(?:$|[^o]|orization)`)

// openName are names that contain such a word and hold no secret: directories, sockets and files, and names of variables.
var openName = regexp.MustCompile(`(?i)^(?:OLD)?PWD$|_(?:SOCK|FILE|PATH|DIR|URL|ID|TYPE|ASKPASS|ENV|NAME|VAR|VARIABLE)$`)

// Secret reports whether a name, of a variable or of a field, says that its value is a secret.
func Secret(name string) bool { return secretName.MatchString(name) && !openName.MatchString(name) }
