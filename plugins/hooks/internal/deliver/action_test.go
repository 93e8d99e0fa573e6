package deliver

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firingtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// forge is gh with the pull requests in the file of that name; each call adds a line to the file calls.
const forge = `#!/bin/sh
echo "$*" >>calls
case "$2" in
list) cat forge 2>/dev/null || echo '[]' ;;
create) [ ! -e down ] || { echo 'try again' >&2; echo 'it is down' >&2; exit 1; }
	[ -e lost ] || echo '[{"url": "https://forge.example/pull/7", "headRefOid": "'$(git rev-parse HEAD)'"}]' >forge ;;
esac
`

// newDelivery returns an action and a request in a repository with a commit and an origin.
func newDelivery(t *testing.T) (*Action, sdk.HookRequest) {
	t.Helper()
	programs := t.TempDir()
	if err := os.WriteFile(filepath.Join(programs, "gh"), []byte(forge), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	req := firingtest.Request(t, "", nil)
	req.Point, req.ArtifactFile = sdk.StageEnd, filepath.Join(req.WorkDir, "artifact.yaml")
	sha := sh(t, req.WorkDir, `git init -q -b feature/SPEC-1 . && git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m 'feat: add' -m 'Spec: SPEC-1'
git init -q --bare origin && git remote add origin origin && git rev-parse HEAD`)
	artifact := "deliverable_type: pr\ncommit_sha: \"" + strings.TrimSpace(sha) + "\"\nbranch_name: feature/SPEC-1\nsummary: it adds\n"
	if err := os.WriteFile(req.ArtifactFile, []byte(artifact), 0o600); err != nil {
		t.Fatal(err)
	}
	return &Action{firingtest.Runner(t)}, req
}

func sh(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return string(out)
}

// U314: the commit is pushed; the address is the answer of the forge. A second call, as after a crash, makes nothing.
func TestDeliver(t *testing.T) {
	a, req := newDelivery(t)
	for range 2 {
		answer, err := a.Run(t.Context(), req)
		if err != nil || answer.Outcome != "" || string(answer.Facts) != `{"artifact":{"pr_url":"https://forge.example/pull/7"},"passed":true}` {
			t.Fatalf("%+v %s, %v", answer, answer.Facts, err)
		}
	}
	calls := sh(t, req.WorkDir, "cat calls; git --git-dir origin rev-parse --abbrev-ref refs/heads/feature/SPEC-1")
	const list = "pr list --head feature/SPEC-1 --state open --json url,headRefOid\n"
	if want := list + "pr create --head feature/SPEC-1 --title feat: add --body Spec: SPEC-1\n" + list + list + "feature/SPEC-1\n"; calls != want {
		t.Errorf("%s", calls)
	}
}

// What fails is the outcome of the node, with the reason of the program.
func TestFailures(t *testing.T) {
	for name, tt := range map[string]struct{ script, reason string }{
		"the push":         {"git remote set-url origin missing", "git exited with code 128: and the repository exists."},
		"the lookup":       {"echo none >forge", "gh pr list printed no list: "},
		"the pull request": {"touch down", "gh exited with code 1: it is down"},
		"another commit":   {`echo '[{"url": "https://forge.example/pull/6", "headRefOid": "0"}]' >forge; touch lost`, "gh pr list shows no open pull request of feature/SPEC-1"},
		"the message":      {"git push -q origin HEAD; c=$(git rev-parse HEAD); rm .git/objects/$(echo $c | cut -c1-2)/$(echo $c | cut -c3-); git init -q", "git exited with code 128: "},
	} {
		t.Run(name, func(t *testing.T) {
			a, req := newDelivery(t)
			sh(t, req.WorkDir, tt.script)
			answer, err := a.Run(t.Context(), req)
			if err != nil || answer.Outcome != "fail" || !strings.HasPrefix(answer.Reason, tt.reason) || !strings.Contains(string(answer.Facts), `"passed":false`) {
				t.Errorf("%+v, %v", answer, err)
			}
		})
	}
	a, req := newDelivery(t)
	t.Setenv("PATH", t.TempDir())
	if answer, err := a.Run(t.Context(), req); err != nil || answer.Reason != "the program git is missing" {
		t.Errorf("%+v, %v", answer, err)
	}
}

// An artifact of another mode delivers nothing; one without a commit is an error.
func TestArtifacts(t *testing.T) {
	for text, kind := range map[string]failure.Kind{
		"deliverable_type: commit\n":                              "",
		"deliverable_type: pr\n":                                  failure.HookFailed,
		"deliverable_type: pr\ncommit_sha: --all\nbranch_name: x": failure.HookFailed,
	} {
		a, req := newDelivery(t)
		if err := os.WriteFile(req.ArtifactFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		answer, err := a.Run(t.Context(), req)
		firingtest.CheckError(t, err, kind)
		if answer.Facts != nil {
			t.Errorf("%s", answer.Facts)
		}
	}
	a, req := newDelivery(t)
	req.ArtifactFile = ""
	_, err := a.Run(t.Context(), req)
	firingtest.CheckError(t, err, failure.HookFailed, "read the artifact")
	firingtest.CheckError(t, a.Validate(t.Context(), sdk.ValidateRequest{Config: []byte(`{"remote": "x"}`)}), failure.ConfigInvalid)
}
