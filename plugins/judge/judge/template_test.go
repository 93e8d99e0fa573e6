package judge

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func TestTemplateLookup(t *testing.T) {
	tests := []struct {
		name   string
		config string
		env    map[string]string // $DIR is the work directory
		want   string
	}{
		{"project", ``, nil, "project"},
		{"home", ``, map[string]string{envHome: "$DIR/home"}, "home"},
		{"xdg", ``, map[string]string{envHome: "$DIR/home", envConfigHome: "$DIR/xdg"}, "xdg"},
		{"a relative xdg is ignored", ``, map[string]string{envHome: "$DIR/home", envConfigHome: "xdg"}, "home"},
		{"a home without one", ``, map[string]string{envHome: "$DIR/nowhere"}, "project"},
		{"root", ``, map[string]string{envRoot: "$DIR/root"}, "root"},
		{"home precedes root", ``, map[string]string{envHome: "$DIR/home", envRoot: "$DIR/root"}, "home"},
		{"configured", `{"judge":{"prompt":"my/judge.md"}}`, map[string]string{envHome: "$DIR/home"}, "mine"},
		{"configured in the home", `{"judge":{"prompt":"~/own.md"}}`, map[string]string{envHome: "$DIR/home"}, "own"},
		{"environment", `{"judge":{"prompt":"missing.md"}}`, map[string]string{envPrompt: "my/judge.md"}, "mine"},
		{"environment, absolute", ``, map[string]string{envPrompt: "$DIR/my/judge.md"}, "mine"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			b.write(t, "scripts/prompts/judge.md", "project\n\n")
			b.write(t, "home/.config/agent-pipelines/prompts/judge.md", "home")
			b.write(t, "home/own.md", "own")
			b.write(t, "xdg/agent-pipelines/prompts/judge.md", "xdg")
			b.write(t, "root/scripts/prompts/judge.md", "root")
			b.write(t, "my/judge.md", "mine")
			b.req.Config = []byte(tt.config)
			for name, value := range tt.env {
				b.env[name] = strings.Replace(value, "$DIR", b.dir, 1)
			}
			if diff := cmp.Diff(tt.want, b.decide(t).Question.Prompt); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestMissingTemplate(t *testing.T) {
	tests := []struct {
		name     string
		config   string
		change   func(t *testing.T, b *fixture)
		searched []string
	}{
		{"missing", ``, func(*testing.T, *fixture) {}, []string{"home/.config/agent-pipelines/prompts/judge.md", "root/scripts/prompts/judge.md", "work/scripts/prompts/judge.md"}},
		{"named", `{"judge":{"prompt":"mine.md"}}`, func(t *testing.T, b *fixture) { b.write(t, "work/scripts/prompts/judge.md", "unused") }, []string{"work/mine.md"}},
		{"empty", `{"judge":{"prompt":"mine.md"}}`, func(t *testing.T, b *fixture) { b.write(t, "work/mine.md", " \n") }, []string{"work/mine.md (empty)"}},
		{"unreadable", `{"judge":{"prompt":"mine.md"}}`, func(t *testing.T, b *fixture) { b.write(t, "work/mine.md/x", "") }, []string{"work/mine.md (is a directory)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			b.env[envHome], b.env[envRoot] = filepath.Join(b.dir, "home"), filepath.Join(b.dir, "root")
			b.req.WorkDir, b.req.Config = filepath.Join(b.dir, "work"), []byte(tt.config)
			tt.change(t, b)
			for i := range tt.searched {
				tt.searched[i] = filepath.Join(b.dir, tt.searched[i])
			}
			want := "judge prompt not found, looked for " + strings.Join(tt.searched, ", ")
			_, err := b.Decide(t.Context(), b.req)
			var got *failure.Error
			if !errors.As(err, &got) || got.Message != want || got.Kind != failure.ConfigInvalid || !strings.Contains(got.Hint, "judge.prompt") {
				t.Errorf("got %#v\nwant %s", err, want)
			}

			validate := func() error { return b.Validate(t.Context(), sdk.ValidateRequest{Config: b.req.Config}) }
			if err := validate(); err != nil {
				t.Errorf("validated before init: %v", err)
			}
			if err := b.Init(t.Context(), sdk.InitRequest{WorkDir: b.req.WorkDir}); err != nil {
				t.Fatal(err)
			}
			if err := validate(); err == nil || err.Error() != want {
				t.Errorf("validated after init: %v", err)
			}
			b.env[envMock] = "true"
			if err := validate(); err != nil {
				t.Errorf("validated where a mock answers: %v", err)
			}
			if d, err := b.Decide(t.Context(), b.req); err != nil || d.Action != sdk.DecisionContinue {
				t.Errorf("decision where a mock answers: %+v, %v", d, err)
			}
			b.env[envTestMode] = "1"
			if err := validate(); err != nil {
				t.Errorf("validated in test mode, which asks no judge: %v", err)
			}
		})
	}
}
