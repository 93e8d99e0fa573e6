package check

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// jestSuffix is that of the file with the report of jest or vitest, in the directory of the context file; jestReport is the
// file in a shell text.
const (
	jestSuffix = ".json"
	jestReport = `"$AGENT_PIPELINES_CONTEXT_FILE` + jestSuffix + `"`
)

// jestOptions are the options of jest and vitest for a report in the format of jest (jestjs.io, "Jest CLI Options";
// vitest.dev, "Reporters"). They print their usual output, too.
var jestOptions = map[string]string{
	"jest":   ` --json --outputFile=` + jestReport,
	"vitest": ` --reporter=default --reporter=json --outputFile.json=` + jestReport,
}

var (
	// jestCommand matches jest and vitest in a shell text, as programs or as scripts of node.
	jestCommand = regexp.MustCompile(`((?:^|[\s;&|(/])(jest|vitest)(?:@[\w.^~-]+|\.m?js)?(?:[ \t]+run)?)([\s;&|)]|$)`)
	// npmCommand matches the start of a script of package.json in a shell text, with its arguments.
	npmCommand = regexp.MustCompile(`((?:^|[\s;&|(])(npm|pnpm|yarn)(?:[ \t]+--?[\w-]+)*(?:[ \t]+run(?:-script)?(?:[ \t]+--?[\w-]+)*)?[ \t]+([\w:.-]+))([^;&|)\n]*)`)
)

// commandOfJest returns a command in which jest and vitest write a report. scripts are those of package.json.
func commandOfJest(text string, scripts map[string]string) string {
	run := npmCommand.ReplaceAllStringFunc(text, func(start string) string {
		m := npmCommand.FindStringSubmatch(start)
		runner := jestCommand.FindStringSubmatch(scripts[m[3]])
		if runner == nil || strings.Contains(scripts[m[3]], "--outputFile") {
			return start
		}
		if m[2] != "npm" { // the script gets all arguments
			return m[1] + jestOptions[runner[2]] + m[4]
		}
		own, passed, _ := strings.Cut(m[4], " -- ")
		return m[1] + strings.TrimRight(own, " ") + " --" + jestOptions[runner[2]] + " " + passed
	})
	if run != text || strings.Contains(text, "--outputFile") {
		return run
	}
	return jestCommand.ReplaceAllStringFunc(text, func(start string) string {
		m := jestCommand.FindStringSubmatch(start)
		return m[1] + jestOptions[m[2]] + m[3]
	})
}

// packageScripts returns the scripts of the project's package.json, nil where it has none that can be read.
func packageScripts(root *os.Root) map[string]string {
	var manifest struct{ Scripts map[string]string }
	if content, err := readRegular(root, "package.json", maxFileSize); err != nil || json.Unmarshal(content, &manifest) != nil {
		return nil
	}
	return manifest.Scripts
}

// jest reads the JSON of jest --json; vitest writes the same members (jest 29, vitest 3). A file that cannot be loaded
// counts as a failed test with its name, below dir.
type jest struct {
	text []byte
	dir  string
}

func (j *jest) readLine(line []byte) []byte {
	j.text = append(j.text, line...)
	return line
}

func (j *jest) results() (found results, err error) {
	var read struct {
		TestResults []struct {
			Name, Status     string // of the file, with its absolute path
			AssertionResults []struct {
				AncestorTitles []string
				Title, Status  string
			}
		}
	}
	if err := json.Unmarshal(j.text, &read); err != nil {
		return found, fmt.Errorf("JSON of jest or vitest: %w", err)
	}
	dir, _ := filepath.EvalSymlinks(j.dir)
	for _, file := range read.TestResults {
		name := strings.TrimPrefix(file.Name, dir+"/")
		if file.Status == statusFailed && len(file.AssertionResults) == 0 {
			found.addFailed(name)
		}
		for _, test := range file.AssertionResults {
			titles := append(append([]string{name}, test.AncestorTitles...), test.Title)
			found.add(strings.Join(titles, " > "), test.Status) // the others are pending, skipped, todo and disabled
		}
	}
	return found, nil
}
