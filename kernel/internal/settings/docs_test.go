package settings_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/settings"
)

// The examples of the reference, the user's file and the project's, are read without a word; together they
// show every key.
func TestDocumentedExamples(t *testing.T) {
	text, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
	if len(examples) != 2 {
		t.Fatalf("%d examples", len(examples))
	}
	user, found := settings.Parse("user", examples[0][1])
	project, more := settings.Parse("project", examples[1][1])
	if len(found)+len(more) > 0 || len(user.Providers) != 2 || user.Providers[0].Model == "" || user.Providers[0].Config == nil || user.Background == "" ||
		project.Defaults.Provider == "" || project.Defaults.Delay == nil || len(project.Commands) == 0 || len(project.Providers) == 0 {
		t.Errorf("user %+v, project %+v, found %v %v", user, project, found, more)
	}
	for _, p := range project.Providers {
		if p.Config != nil {
			t.Errorf("the project's example shows the config of %s, which is left out", p.Name)
		}
	}
}
