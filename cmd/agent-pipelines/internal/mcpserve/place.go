package mcpserve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// These are the limits of arguments: the longest name and the longest text, in bytes, and the longest list.
const (
	maxName  = 256
	maxGiven = 64 << 10
	maxMany  = 64 // elements of a list
)

// maxText bounds a text in a result, in bytes.
const maxText = 64 << 10

// wrong returns the error of an invalid call.
func wrong(message, hint string) error { return cli.UsageError(message, "%s", hint) }

// within refuses a path that is outside of the project or leads out of it.
func within(project, label, path string) error {
	hint := "name a file or directory of the project, relative to " + project
	if err := checkName(label, path); err != nil {
		return err
	}
	if !filepath.IsLocal(path) {
		return wrong(fmt.Sprintf("%s '%s' is outside of the project", label, path), hint)
	}
	root, err := os.OpenRoot(project)
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := root.Stat(filepath.Clean(path)); err != nil { // Stat follows no link out of the project
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return wrong(fmt.Sprintf("%s '%s' cannot be used: %v", label, path, err), hint)
	}
	return nil
}

// namesOrPaths refuses texts that are neither a name nor a path in the project.
func namesOrPaths(project string, all ...string) error {
	if len(all) > maxMany {
		return wrong(fmt.Sprintf("there are %d names", len(all)), fmt.Sprintf("give %d at most", maxMany))
	}
	for _, value := range all {
		if err := checkName("name", value); err != nil {
			return err
		}
		if _, err := os.Lstat(filepath.Join(project, value)); err != nil && !strings.ContainsRune(value, filepath.Separator) && value != ".." {
			continue // a name that no file in the project's root has
		}
		if err := within(project, "file", value); err != nil {
			return err
		}
	}
	return nil
}

// checkName refuses invalid names.
func checkName(label, value string) error {
	switch {
	case value == "":
		return wrong(label+" is empty", "give it a value, or leave it out")
	case len(value) > maxName:
		return wrong(fmt.Sprintf("%s has %d bytes", label, len(value)), fmt.Sprintf("at most %d are accepted", maxName))
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		return wrong(label+" is not valid text", "write it in UTF-8, without zero bytes")
	default:
		return nil
	}
}

// key applies word to the part before the = of a flag's NAME=VALUE.
func key(label, value string) error {
	if strings.Contains(value, "=") {
		return wrong(label+" has a =", "names have none")
	}
	return checkName(label, value)
}

// text refuses texts that are too long or not valid.
func text(label, value string) error {
	switch {
	case len(value) > maxGiven:
		return wrong(fmt.Sprintf("%s has %d bytes, at most %d are accepted", label, len(value), maxGiven), "put a long text into a file of the project, and name the file in inputs")
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		return wrong(label+" is not valid text", "write it in UTF-8, without zero bytes")
	default:
		return nil
	}
}

// checkText refuses an invalid name of a session, and a text that is invalid or too long for an event.
func checkText(session, label, value string) error {
	if err := checkName("session", session); err != nil {
		return err
	}
	if len(value) > event.MaxText {
		return wrong(fmt.Sprintf("%s has %d bytes, at most %d are accepted", label, len(value), event.MaxText), "put it into a file of the project and name the file")
	}
	return text(label, value)
}

// clipped returns a text, or its first maxText bytes with the number of missing bytes.
func clipped(text string) string {
	short, left := cut(text, maxText)
	if left == 0 {
		return text
	}
	return fmt.Sprintf("%s\n… (%d more bytes)", short, left)
}

// cut returns the beginning of a text, in whole runes, and the number of missing bytes.
func cut(text string, most int) (short string, left int) {
	if len(text) <= most {
		return text, 0
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most], len(text) - most
}
