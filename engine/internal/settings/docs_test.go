package settings_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
)

// The examples in docs/configuration.md are the user's file, the project's file and a file with notify. They are read
// without diagnostics and show the keys that the test names.
func TestDocumentedExamples(t *testing.T) {
	text := testkit.Must(os.ReadFile("../../../docs/configuration.md"))
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
	if len(examples) != 3 {
		t.Fatalf("%d examples", len(examples))
	}
	user, found := settings.Parse("user", examples[0][1])
	project, more := settings.Parse("project", examples[1][1])
	notify, evenMore := settings.Parse("notify", examples[2][1])
	if len(found)+len(more)+len(evenMore) > 0 || len(user.Notify) != 1 || len(notify.Notify) != 2 || notify.Notify[1].On == nil || len(user.Providers) != 4 || user.Providers[0].Model == "" || user.Providers[0].Config == nil || user.Background == "" ||
		project.Defaults.Provider == "" || project.Defaults.Delay == nil || len(project.Commands) == 0 || len(project.Providers) == 0 {
		t.Errorf("user %+v, project %+v, notify %+v, found %v %v %v", user, project, notify, found, more, evenMore)
	}
	if project.Notify != nil {
		t.Errorf("the project's example shows notify, which is left out")
	}
	for _, p := range project.Providers {
		if p.Config != nil {
			t.Errorf("the project's example shows the config of %s, which is left out", p.Name)
		}
	}
}
