package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/authoring"
)

// A8: the first line of every file that we ship or write for users names its schema for editors.
func TestFilesNameTheirSchema(t *testing.T) {
	found := 0
	for _, dir := range []string{"library", "gallery", "internal/scaffold/template", "../../examples"} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			var kind string
			switch base := strings.TrimSuffix(e.Name(), ".tmpl"); {
			case base == "stage.yaml":
				kind = "stage"
			case base == "config.yaml":
				kind = "config"
			case filepath.Ext(base) == ".yaml" && strings.Contains(filepath.ToSlash(path), "/pipelines/"):
				kind = "pipeline"
			default:
				return nil
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found++
			if !bytes.HasPrefix(data, []byte("# yaml-language-server: $schema="+authoring.SchemaBase+kind+".json\n")) {
				t.Errorf("%s does not say that its schema is %s", path, kind)
			}
			return nil
		})
		check(t, err)
	}
	require(t, found >= 40, found)
}
