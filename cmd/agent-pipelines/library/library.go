package library

import (
	"embed"
	"io/fs"
)

//go:embed pipelines stages
var files embed.FS

// Files returns the shipped files, by slash-separated names such as "stages/agent-plan/prompt.md".
func Files() fs.FS { return files }
