package past

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Outputs makes the outputs of the iterations that [Give] added: links to that of the iteration that was repeated. stage is the
// directory of the stage. Nothing is made where that iteration said nothing.
func Outputs(stage string, iterations int) error {
	output := func(n int) string { return filepath.Join(stage, fmt.Sprintf("iterations/%03d/output.md", n)) }
	if _, err := os.Stat(output(model)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for n := model + 1; n <= iterations; n++ {
		if err := os.MkdirAll(filepath.Dir(output(n)), 0o750); err != nil {
			return err
		}
		for from, to := range map[string]string{output(model): output(n), copied(stage, model): copied(stage, n)} {
			if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) { // of the iteration that was cut off
				return err
			}
			if err := os.Link(from, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// copied is where the stage has the output of an iteration.
func copied(stage string, n int) string { return filepath.Join(stage, fmt.Sprintf("run-%d.md", n-1)) }
