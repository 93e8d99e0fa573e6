package ground

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// patience is the maximum wait for a call of the mock plugin, far longer than any call takes to arrive.
const patience = 5 * time.Minute

// Watch reports the calls of the mock plugin as they begin, through a named pipe. The caller closes it after the run.
type Watch struct {
	// Environment makes a run's mock plugin write to this watch.
	Environment []string
	// Dir is the directory of the files that the plugin uses for it.
	Dir   string
	pipe  *os.File
	lines *bufio.Reader
}

// Call is a call that the plugin has received.
type Call struct {
	// At is the time when the record of the call arrived.
	At        time.Time `json:"-"`
	Iteration int       `json:"iteration"`
	// PID is the plugin's process ID.
	PID int `json:"pid"`
}

// Watch returns a watch. The mock's agent hangs in iteration hang; 0 means never.
func (g *Ground) Watch(hang int) (*Watch, error) {
	dir, err := g.Dir("watch")
	if err != nil {
		return nil, err
	}
	fifo, config := filepath.Join(dir, "calls"), filepath.Join(dir, "mock.json")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		return nil, fmt.Errorf("make named pipe %s: %w", fifo, err)
	}
	settings := map[string]any{"record": fifo}
	if hang > 0 {
		settings["replies"] = []map[string]any{{"iteration": hang, "hang": true}}
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(config, text, 0o600); err != nil {
		return nil, err
	}
	pipe, err := os.OpenFile(fifo, os.O_RDWR, 0) // also for writing, because the pipe would end between two writers
	if err != nil {
		return nil, err
	}
	return &Watch{Environment: []string{"MOCK_CONFIG=" + config}, Dir: dir, pipe: pipe, lines: bufio.NewReader(pipe)}, nil
}

// Next waits for the next call. It returns an error if no call arrives for a long time, for example after a failed run.
func (w *Watch) Next() (Call, error) {
	if err := w.pipe.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return Call{}, err
	}
	line, err := w.lines.ReadBytes('\n')
	c := Call{At: time.Now()}
	if err != nil {
		return c, fmt.Errorf("wait for a call of the mock plugin: %w", err)
	}
	if err := json.Unmarshal(line, &c); err != nil {
		return c, fmt.Errorf("read a record of the mock plugin: %w", err)
	}
	return c, nil
}

// Until waits for the first call of an iteration or of a later one.
func (w *Watch) Until(iteration int) (Call, error) {
	for {
		c, err := w.Next()
		if err != nil || c.Iteration >= iteration {
			return c, err
		}
	}
}

// Close ends the watch.
func (w *Watch) Close() error { return w.pipe.Close() }
