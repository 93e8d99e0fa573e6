package e2ereal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
)

// Call is one recorded run of a CLI: its output, its effects and its end. [Call.Save] writes it to readable files.
type Call struct {
	// Version is the CLI's output for --version.
	Version string `json:"version"`
	// Stdout is the standard output; of a run that Waits, only the part before the signal.
	Stdout []byte `json:"-"`
	// Stderr is the whole standard error.
	Stderr []byte `json:"-"`
	// Files are the contents of the files that the CLI wrote in its directory, by path, without the result file.
	Files map[string]string `json:"files,omitempty"`
	// Result is the content of the result file that the prompt names, nil if there is none.
	Result *string `json:"result,omitempty"`
	// Waits is true for a run that waited until a signal ended it.
	Waits bool `json:"waits,omitempty"`
	// Last is the standard output after the signal.
	Last []byte `json:"-"`
	// Exit is the exit code, Signal the number of the signal that killed the CLI instead; 0 is none.
	Exit   int            `json:"exit"`
	Signal syscall.Signal `json:"signal,omitempty"`
}

// resultFile matches the path of the result file in a prompt of testdata.
var resultFile = regexp.MustCompile(`(?m)^Result file: (.+)$`)

// callFile returns the path of a file of call n. One file describes the call, the others hold its streams. An empty
// stream has no file.
func callFile(dir string, n int, name string) string {
	return filepath.Join(dir, fmt.Sprintf("%02d.%s", n, name))
}

func (c *Call) streams() map[string]*[]byte {
	return map[string]*[]byte{"stdout.jsonl": &c.Stdout, "stderr.txt": &c.Stderr, "last.jsonl": &c.Last}
}

// Save writes call n, counted from 1, into a directory.
func (c *Call) Save(dir string, n int) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	faults := []error{os.WriteFile(callFile(dir, n, "call.json"), append(text, '\n'), 0o644)}
	for name, stream := range c.streams() {
		if len(*stream) > 0 {
			faults = append(faults, os.WriteFile(callFile(dir, n, name), *stream, 0o644))
		}
	}
	return errors.Join(faults...)
}

// LoadCall reads call n of a directory. If the call was not recorded, the error is [fs.ErrNotExist].
func LoadCall(dir string, n int) (*Call, error) {
	text, err := os.ReadFile(callFile(dir, n, "call.json"))
	if err != nil {
		return nil, err
	}
	c := &Call{}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("call %d of %s: %w", n, dir, err)
	}
	for name, stream := range c.streams() {
		*stream, err = os.ReadFile(callFile(dir, n, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return c, nil
}

// Calls counts the recorded calls of a directory.
func Calls(dir string) (int, error) {
	found, err := filepath.Glob(filepath.Join(dir, "*.call.json"))
	return len(found), err
}
