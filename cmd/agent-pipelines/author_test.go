package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestAuthor runs testdata/author: the work of a plugin's author with the released command and SDK, in a module outside of
// this workspace and without a network. $SDK is a checkout of the SDK.
func TestAuthor(t *testing.T) {
	t.Parallel()
	released := published(t)
	sdk := must(filepath.Abs("../../plugin-sdk"))
	author := scripts("testdata/author")
	author.Setup = func(env *testscript.Env) error {
		if err := setUp(env); err != nil {
			return err
		}
		for _, entry := range released.env {
			name, value, _ := strings.Cut(entry, "=")
			env.Setenv(name, value)
		}
		env.Setenv("PATH", released.bin+string(os.PathListSeparator)+env.Getenv("PATH"))
		env.Setenv("SDK", sdk)
		return nil
	}
	testscript.Run(t, author)
}
