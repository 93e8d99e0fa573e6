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

// Call is one recorded run of a CLI: its output, its effects and its end. [Save] puts it into readable files.
type Call struct {
	// Version is the CLI's answer to --version.
	Version string `json:"version"`
	// Stdout is its output before a signal to end, or in all.
	Stdout []byte `json:"-"`
	// Stderr is all it wrote there.
	Stderr []byte `json:"-"`
	// Files are those of its directory that it wrote, path to content, without the result file.
	Files map[string]string `json:"files,omitempty"`
	// Result is its text in the file that the prompt names, nil for none.
	Result *string `json:"result,omitempty"`
	// Waits is true for a run that waited until a signal ended it.
	Waits bool `json:"waits,omitempty"`
	// Last is its output after the signal.
	Last []byte `json:"-"`
	// Exit is its exit code, Signal the number of the signal that ended it instead; 0 is none.
	Exit   int            `json:"exit"`
	Signal syscall.Signal `json:"signal,omitempty"`
}

// resultFile finds the path in a prompt of testdata.
var resultFile = regexp.MustCompile(`(?m)^Result file: (.+)$`)

// The files of call n: one describes it, the others are the streams and are absent where empty.
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

// LoadCall reads call n of a directory. One that was not recorded is an [fs.ErrNotExist].
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
