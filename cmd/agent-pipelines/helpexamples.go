package main

import (
	"strings"

	"github.com/alecthomas/kong"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
)

// helpExamples maps verbs to the examples in their help, without the program's name. The Help method of `export` has its
// own examples, because one of them is a command line of another program.
var helpExamples = map[string][]string{
	"abort":           {"abort my-session"},
	"answer":          {"answer my-session q-1a2b3c4d approve", `answer my-session q-1a2b3c4d "use the name of the table"`, "answer my-session --from-file resolution.yaml"},
	"approve":         {"approve my-session", "approve my-session --resume", `approve my-session --context "mind the tests"`},
	"artifacts":       {"artifacts my-session", "artifacts my-session --stage spec --output spec.yaml"},
	"attach":          {"attach my-session", "attach my-session --lines 100"},
	"completion":      {"completion bash", "completion zsh", "completion fish"},
	"config":          {"config", "config show --origin", `config set --project commands.test "go test ./..."`},
	"config get":      {"config get defaults.provider"},
	"config set":      {"config set defaults.provider codex", `config set --project commands.test "go test ./..."`, "config set sandbox workspace"},
	"config show":     {"config show", "config show --origin"},
	"crashtest":       {"crashtest ship", `crashtest ship --kills 200 --context "add a --json flag" --mock mock.json`, "crashtest ship --seed 1 --kills 20 --only 7 --keep"},
	"design":          {`design "a login page with a rate limit"`, "artifacts my-session --stage spec --output specs/login.yaml"},
	"diff":            {"diff auth auth-2", "diff auth auth-2 --json | jq .differ", "diff auth auth-2 --exit-code"},
	"doctor":          {"doctor", "doctor --provider codex", "doctor --json"},
	"dry-run":         {"dry-run pipeline first", `dry-run loop first-work --context "a try"`, "dry-run pipeline implement --start red"},
	"explain":         {"explain AP-YAML-105", "explain provider_timeout", "explain 22", "explain"},
	"feedback":        {`feedback my-session "leave the database alone"`},
	"fix":             {"fix --artifact violation=violation.yaml", `fix "the parser panics on an empty file" --delivery-mode patch`},
	"graph":           {"graph implement", "graph implement --format svg > implement.svg", "graph implement --format mermaid"},
	"help":            {"help start", "help plugins lock", "help exit-codes"},
	"implement":       {`implement "a login page with a rate limit" --iterate`, "implement --from-spec specs/login.yaml", `implement "a login page" --exit-after red`},
	"init":            {"init", "init --name nightly --provider codex", "init --list", "init --example feedback --dir try-feedback"},
	"keys":            {"keys", "keys list"},
	"keys list":       {"keys list"},
	"keys remove":     {"keys remove laptop"},
	"keys show":       {"keys show"},
	"keys trust":      {"keys trust ed25519:11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo --name laptop"},
	"lint":            {"lint", "lint pipeline first", "lint loop first-work", "lint .claude/pipelines/first.yaml"},
	"list":            {"list", "list 0", "list --status failed,crashed", "list --json"},
	"loop":            {"loop first-work my-session 5 --foreground", `loop first-work my-session --detach --context "tidy up"`, "loop first-work my-session 3 --foreground --provider mock"},
	"mcp":             {"mcp serve"},
	"mcp serve":       {"mcp serve", "mcp serve --root /home/ann/shop --allow read", "mcp serve --allow approve"},
	"metrics":         {"metrics session my-session", "metrics --prometheus"},
	"metrics print":   {"metrics --prometheus", "metrics --prometheus my-session"},
	"metrics session": {"metrics session my-session", "metrics session my-session --json"},
	"pause":           {"pause my-session"},
	"pipeline":        {"pipeline first my-session --foreground", "pipeline first my-session 3 --detach", "pipeline .claude/pipelines/first.yaml --foreground --provider codex"},
	"pipelines":       {"pipelines list", "pipelines show implement", "pipelines copy implement careful"},
	"pipelines copy":  {"pipelines copy implement", "pipelines copy implement careful"},
	"pipelines list":  {"pipelines list", "pipelines list --json"},
	"pipelines show":  {"pipelines show implement"},
	"plugins":         {"plugins", "plugins info claude", "plugins install ./agent-plugin-foo", "plugins new provider foo"},
	"plugins info":    {"plugins info claude", "plugins info claude --json"},
	"plugins install": {"plugins install ./agent-plugin-foo", "plugins install agent-plugin-foo_linux_amd64.tar.gz"},
	"plugins list":    {"plugins list", "plugins list --json"},
	"plugins lock":    {"plugins lock", "plugins lock foo", "plugins lock --check"},
	"plugins new":     {"plugins new provider foo", "plugins new hook notify-me --dir ../notify-me"},
	"plugins remove":  {"plugins remove foo"},
	"plugins verify":  {"plugins verify ./agent-plugin-foo", "plugins verify claude --quiet"},
	"questions":       {"questions list", "questions show my-session"},
	"questions list":  {"questions list", "questions list my-session"},
	"questions show":  {"questions show my-session", "questions show my-session q-1a2b3c4d"},
	"reject":          {`reject my-session --feedback "the second step has no test"`, "reject my-session"},
	"repair":          {"repair my-session --dry-run", "repair my-session --at review"},
	"report":          {"report auth", "report auth --output /tmp/auth.html", "report auth --output - > auth.html"},
	"resume":          {"resume my-session", `resume my-session --context "the key is in .env now"`, "resume my-session --detach"},
	"review":          {"review my-session"},
	"schema":          {"schema print pipeline", "schema print stage > stage.json", "schema print output status", "schema list"},
	"schema list":     {"schema list", "schema list --json"},
	"schema print":    {"schema print pipeline", "schema print pipeline > .claude/schema/pipeline.json", "schema print config", "schema print output status"},
	"session":         {"session history my-session", "session rm my-session", "session prune --older 30d"},
	"session history": {"session history my-session", "session history my-session --json"},
	"session prune":   {"session prune --older 30d", "session prune --older 2w --dry-run"},
	"session verify":  {"session verify my-session", "session verify my-session --json"},
	"session rm":      {"session rm my-session", "session rm one two"},
	"stages":          {"stages list", "stages show spec", "stages new threats --artifact threat_model", "stages lint"},
	"stages lint":     {"stages lint", "stages lint threats"},
	"stages list":     {"stages list", "stages list --json"},
	"stages new":      {"stages new threats", "stages new threats --artifact threat_model"},
	"stages show":     {"stages show spec"},
	"start":           {`start agent-loop "make the failing test in ./parser pass"`, "start implement - < request.md --supervised", "start implement --from-spec specs/login.yaml --delivery-mode commit", "start test --artifact spec=specs/login.yaml"},
	"status":          {"status my-session", "status my-session --json"},
	"tail":            {"tail my-session 20", "tail my-session 0", "tail my-session --json", "logs my-session --stage build --iteration 3 --with-output", "logs my-session --stage build --follow"},
	"trust":           {"trust .", "trust --list", "trust --remove ."},
	"version":         {"version", "version --json"},
	"watch":           {"watch auth", "loop work auth --detach && agent-pipelines watch auth"},
	"why":             {"why auth", "why auth --limit 0", "why auth --json | jq -r '.next[0].command'"},
}

// illustrate adds the examples to the help of the verbs below a node.
func illustrate(node *kong.Node, words string) {
	for _, child := range node.Children {
		path := strings.TrimSpace(words + " " + child.Name)
		if lines := helpExamples[path]; len(lines) > 0 {
			child.Detail = strings.TrimLeft(child.Detail+"\n\nExamples:\n  "+cli.Program+" "+strings.Join(lines, "\n  "+cli.Program+" "), "\n")
		}
		illustrate(child, path)
	}
}
