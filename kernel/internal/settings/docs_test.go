package settings_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/settings"
)

// The example of the reference is read without a word and shows every key.
func TestDocumentedExample(t *testing.T) {
	text, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(text)
	if example == nil {
		t.Fatal("no example")
	}
	s, found := settings.Parse("configuration.md", example[1])
	if len(found) > 0 || len(s.Providers) != 2 || s.Providers[0].Model == "" || s.Providers[0].Config == nil || s.Background == "" {
		t.Errorf("settings %+v, found %v", s, found)
	}
}
