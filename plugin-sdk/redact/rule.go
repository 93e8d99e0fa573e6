package redact

import (
	"regexp"
	"strings"
)

// rule finds one kind of secret. REQUIREMENTS C5 lists the patterns.
type rule struct {
	name string // shown to the user
	// hints are lower-case words of which a matching text contains at least one; searching for them
	// is much cheaper than the pattern. Default: nil, any text.
	hints []string
	// pattern matches the secret: its last matched group, or the whole match.
	pattern *regexp.Regexp
	// isException reports whether a match is not a secret. Its arguments are the match and the secret.
	// Default: nil, every match is a secret.
	isException func(match, secret string) bool
	// wholeText states that the rule needs the whole text before the match, and so does not apply to a stream.
	wholeText bool
}

// prefixRules find keys with a known beginning, also in the texts of agents.
var prefixRules = []rule{
	{name: "private-key", hints: []string{"-----"}, pattern: regexp.MustCompile(
		`(?s)-----BEGIN [A-Z0-9 ]{0,64}PRIVATE KEY-----(?:.*?-----END [A-Z0-9 ]{0,64}PRIVATE KEY-----|[A-Za-z0-9+/=\s\\:,-]*)`)},
	// This rule finds the end of a key whose beginning is missing.
	{name: "private-key", hints: []string{"-----end "}, wholeText: true, pattern: regexp.MustCompile(`(?:[A-Za-z0-9+/=]|\s|\\[nr])*-----END [A-Z0-9 ]{0,64}PRIVATE KEY-----`)},
	{name: "aws-key-id", hints: []string{"akia"}, pattern: regexp.MustCompile(`AKIA[0-9A-Z]{16}`)},
	{name: "github-token", hints: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, pattern: regexp.MustCompile(`gh[pousr]_[A-Za-z0-9]{36,}`)},
	{name: "github-token", hints: []string{"github_pat_"}, pattern: regexp.MustCompile(`github_pat_[A-Za-z0-9_]{22,}`)},
	{name: "stripe-key", hints: []string{"sk_live_"}, pattern: regexp.MustCompile(`sk_live_[A-Za-z0-9]{24,}`)},
	{name: "model-key", hints: []string{"sk-"}, pattern: regexp.MustCompile(`(?:^|[^A-Za-z0-9])(sk-[A-Za-z0-9_-]{20,})`)},
	{name: "jwt", hints: []string{"eyj"}, pattern: regexp.MustCompile(`eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*`)},
}

var urlPassword = rule{name: "url-password", hints: []string{"://"}, pattern: regexp.MustCompile(`://[^\s/:@"']*:([^\s/"']+)@`)}

// memberRule is the name of the rule for members of JSON objects in a text.
const memberRule = "member"

// nameRules find values beside a name that marks them as secret. They do not apply to the texts of
// agents.
var nameRules = []rule{
	{name: "bearer", hints: []string{"bearer"}, pattern: regexp.MustCompile(`(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{8,})`)},
	{name: "authorization", hints: []string{"authorization"}, pattern: regexp.MustCompile(
		`(?i)\bauthorization["']?\s*[:=]\s*["']?(?:(?:basic|digest|negotiate|token)\s+)?([^\s"',;]+)`), isException: isScheme},
	{name: "assignment", hints: []string{"key", "secret", "token", "password", "credential"}, pattern: regexp.MustCompile(
		`\b[A-Z0-9_]*(?:KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL)[A-Z0-9_]*=(?:"([^"]+)"|'([^']+)'|([^\s"'&;,]+))`), isException: isPlain},
	{name: "password", hints: []string{"password", "passwd", "pwd"}, pattern: regexp.MustCompile(
		`(?i)(?:password|passwd|\bpwd)["'\\]*[ \t]*[:=][ \t]*(?:"((?:[^"\\]|\\.)+)"|'([^']+)'|\\*["']?((?:[^\s"'\\;&]|\\[^"'])+))`), isException: isWorkingDirectory},
	{name: "api-key", hints: []string{"api"}, pattern: regexp.MustCompile(
		`(?i)api[_-]?key["'\\]*[ \t]*[:=][ \t]*["'\\]*([^\s"'\\;&]{10,})`)},
	{name: "aws-secret-key", hints: []string{"aws_secret_access_key"}, pattern: regexp.MustCompile(
		`(?i)aws_secret_access_key["'\\]*[ \t]*[:=][ \t]*["'\\]*([A-Za-z0-9/+=]{40})`)},
	{name: "url-parameter", hints: []string{"?", "&"}, pattern: regexp.MustCompile(
		`(?i)[?&](?:api[_-]?key|access[_-]?token|token|secret|password|pwd)=([^\s"'&#]+)`)},
	urlPassword,
	// This rule finds the beginning of a key before an ellipsis, in a truncated text.
	{name: "cut-key", hints: []string{ellipsis}, pattern: regexp.MustCompile(
		`((?:AKIA|gh[pousr]_|github_pat_|sk_live_|sk-|eyJ)[A-Za-z0-9_.-]{4,})` + ellipsis)},
	// This rule finds a member of a JSON object with a name for which IsSecretName returns true.
	{name: memberRule, hints: []string{`"`}, pattern: regexp.MustCompile(
		`"([^"\\]{1,100})"\s*:\s*"((?:[^"\\]|\\.)+)"`), isException: isOpenMember},
}

// isScheme exempts the scheme before the credentials. Bearer tokens have their own rule.
func isScheme(_, secret string) bool {
	switch strings.ToLower(secret) {
	case "basic", "bearer", "digest", "negotiate", "token":
		return true
	}
	return false
}

// isPlain exempts switches and counts, as in MAX_TOKENS=4096.
func isPlain(_, value string) bool {
	switch strings.ToLower(value) {
	case "true", "false", "none", "null":
		return true
	}
	return len(value) < 10 && strings.Trim(value, "0123456789") == ""
}

// isWorkingDirectory exempts the shell's PWD and OLDPWD.
func isWorkingDirectory(match, value string) bool {
	return strings.HasPrefix(match, "PWD=") && strings.HasPrefix(value, "/")
}

// isOpenMember exempts members of objects if their names are not secret, or their values are
// switches or counts.
func isOpenMember(match, value string) bool {
	name, _, _ := strings.Cut(match[1:], `"`)
	return !IsSecretName(name) || isPlain(match, value)
}

// secretName matches names of secret values. It matches "auth", but not "author".
var secretName = regexp.MustCompile(
	`(?i)passw|passphrase|pwd|secret|token(?:[^si]|$)|api[_-]?key|credential|bearer|private[_-]?key|access[_-]?key|auth(?:$|[^o]|orization)`)

// openName matches names of variables that may match secretName but hold no secret: directories,
// sockets, files and names of other variables.
var openName = regexp.MustCompile(`(?i)^(?:OLD)?PWD$|_(?:SOCK|FILE|PATH|DIR|URL|ID|TYPE|ASKPASS|ENV|NAME|VAR|VARIABLE)$`)

// IsSecretName reports whether the name of a variable or field marks its value as secret.
func IsSecretName(name string) bool {
	return secretName.MatchString(name) && !openName.MatchString(name)
}

// secretVariable matches names of environment variables that usually hold secrets. As names of fields they are common:
// only [IsSecretVariable] uses them.
var secretVariable = regexp.MustCompile(`(?i)(?:^|_)(?:PASS|PAT|KEY|DSN|CREDS?|CONNECTION_STRING|WEBHOOK_URL)$|^SSHPASS$`)

// openVariable matches names of variables that are never secret: keys that are no credentials (hooks get those of
// hooks and attempts), and proxies, whose addresses all programs need.
var openVariable = regexp.MustCompile(`(?i)(?:PUBLIC|CACHE|SORT|PRIMARY|FOREIGN|HOOK|ATTEMPT)_KEY$|^(?:ALL|FTP|HTTPS?|NO)_PROXY$`)
