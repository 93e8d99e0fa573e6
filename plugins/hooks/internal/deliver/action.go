package deliver

import (
	"cmp"
	"context"
	_ "embed" // the schema of the configuration
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/config"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

//go:embed schema.json
var schema []byte

// defaultLimit is the time limit of each command where the hook sets no timeout.
const defaultLimit = 2 * time.Minute

// Action is the hook action deliver. Use [New]. It is safe for concurrent use.
type Action struct{ runner *firing.Runner }

// New returns the action. Its commands inherit the process's environment.
func New() *Action { return &Action{firing.NewRunner()} }

// Describe implements [sdk.HookAction].
func (a *Action) Describe() sdk.Component {
	return sdk.Component{
		Name:         "deliver",
		Summary:      "pushes the commit of a deliverable and makes its pull request",
		ConfigSchema: schema,
		Needs: &sdk.Needs{Network: true, Commands: true, Environment: []string{
			"GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GH_HOST", "GH_CONFIG_DIR", "XDG_CONFIG_HOME", "SSH_AUTH_SOCK",
			"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
		}},
	}
}

// Validate implements [sdk.Validator].
func (a *Action) Validate(_ context.Context, req sdk.ValidateRequest) error {
	return config.Decode(req.Config, &struct{}{})
}

// Run delivers the node's artifact if its deliverable_type is pr. It looks up an open pull request of the branch before it makes
// one, so that a repeated call makes no second one. The facts have the address that the forge answers.
//
// A command that fails is the outcome fail, with the last line that it printed. Without an artifact, or without its commit, the
// error is of kind hook_failed.
func (a *Action) Run(ctx context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
	d, err := readDeliverable(req.ArtifactFile)
	if err != nil || d.kind != "pr" {
		return sdk.HookAnswer{Action: sdk.ActionContinue}, err
	}
	url, reason, err := a.deliver(ctx, req, d)
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	answer, facts := sdk.HookAnswer{Action: sdk.ActionContinue, Reason: reason}, map[string]any{"passed": reason == ""}
	if reason == "" {
		facts["artifact"] = map[string]string{"pr_url": url}
	} else {
		answer.Outcome, facts["reason"] = "fail", reason
	}
	answer.Facts, err = json.Marshal(facts)
	return answer, err
}

// deliverable holds the fields of an artifact that name the commit.
type deliverable struct{ kind, sha, branch string }

var (
	commit  = regexp.MustCompile(`^[0-9a-f]{40,64}$`)
	branch  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)
	address = regexp.MustCompile(`^https?://\S+$`)
	field   = regexp.MustCompile(`(?m)^(deliverable_type|commit_sha|branch_name): *["']?(.*?)["']?$`)
)

// readDeliverable reads the fields from a file with an artifact, in which each begins a line.
func readDeliverable(file string) (deliverable, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return deliverable{}, failure.New(failure.HookFailed, "read the artifact: %w", err).
			WithHint("use the action at stage_end of a node whose artifact is a deliverable")
	}
	fields := map[string]string{}
	for _, m := range field.FindAllSubmatch(text, -1) {
		fields[string(m[1])] = string(m[2])
	}
	d := deliverable{fields["deliverable_type"], fields["commit_sha"], fields["branch_name"]}
	if d.kind == "pr" && (!commit.MatchString(d.sha) || !branch.MatchString(d.branch)) {
		return d, failure.New(failure.HookFailed, "the artifact %s has no commit_sha and branch_name", file).
			WithHint("let a check of type delivery fill them in")
	}
	return d, nil
}

// deliver returns the address of the pull request, or the reason why there is none.
func (a *Action) deliver(ctx context.Context, req sdk.HookRequest, d deliverable) (url, reason string, err error) {
	if _, reason, err = a.run(ctx, req, "git", "push", "origin", d.sha+":refs/heads/"+d.branch); reason != "" || err != nil {
		return "", reason, err
	}
	if url, reason, err = a.find(ctx, req, d); url != "" || reason != "" || err != nil {
		return url, reason, err
	}
	message, reason, err := a.run(ctx, req, "git", "show", "-s", "--no-show-signature", "--format=%B", d.sha)
	if reason != "" || err != nil {
		return "", reason, err
	}
	title, body, _ := strings.Cut(message, "\n")
	if _, reason, err = a.run(ctx, req, "gh", "pr", "create", "--head", d.branch, "--title", title, "--body", strings.TrimSpace(body)); reason != "" || err != nil {
		return "", reason, err
	}
	if url, reason, err = a.find(ctx, req, d); url == "" && reason == "" && err == nil {
		reason = "gh pr list shows no open pull request of " + d.branch
	}
	return url, reason, err
}

// find returns the address of the open pull request with the commit, "" for none.
func (a *Action) find(ctx context.Context, req sdk.HookRequest, d deliverable) (url, reason string, err error) {
	out, reason, err := a.run(ctx, req, "gh", "pr", "list", "--head", d.branch, "--state", "open", "--json", "url,headRefOid")
	if reason != "" || err != nil {
		return "", reason, err
	}
	var found []struct{ URL, HeadRefOid string }
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		return "", fmt.Sprintf("gh pr list printed no list: %v", err), nil
	}
	for _, p := range found { // a fork can have a branch of the same name
		if p.HeadRefOid == d.sha && address.MatchString(p.URL) {
			return p.URL, "", nil
		}
	}
	return "", "", nil
}

// run runs a program in the project and returns what it printed, or the reason why it failed.
func (a *Action) run(ctx context.Context, req sdk.HookRequest, args ...string) (out, reason string, err error) {
	program, err := exec.LookPath(args[0])
	if err != nil {
		return "", fmt.Sprintf("the program %s is missing", args[0]), nil //nolint:nilerr // the reason says so
	}
	printed := firing.HeadBuffer{Max: firing.MaxContext}
	end, err := a.runner.Run(ctx, firing.Command{
		Name: args[0], Path: program, Args: args[1:], Env: map[string]string{
			"GIT_TERMINAL_PROMPT": "0", "GH_PROMPT_DISABLED": "1", // gh runs git, too, and an agent may have configured programs
			"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "false", "GIT_CONFIG_KEY_1": "core.hooksPath", "GIT_CONFIG_VALUE_1": "/dev/null",
		},
		Limit: cmp.Or(req.Timeout, defaultLimit), Stdout: printed.Add, Stderr: func([]byte) {},
	}, req)
	if err != nil || end.Clean() {
		return printed.String(), "", err
	}
	lines := strings.Split(strings.TrimSpace(end.Stderr), "\n")
	return "", fmt.Sprintf("%s: %s", end.Failure().Message, lines[len(lines)-1]), nil
}
