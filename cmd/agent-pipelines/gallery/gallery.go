package gallery

import (
	"embed"
	"io/fs"
	"path"
	"slices"
)

// Example is a small project that can run. Its pipeline has the same name.
type Example struct {
	// Name is the name of the example, of its directory and of its pipeline.
	Name string
	// Shows is the subject of the example, in one line.
	Shows string
	// Mock is the file with the mock's answers, relative to the project.
	Mock string
	// Then lists the commands, split into words, that complete a run of [Session] that needs the user; nil for none.
	Then [][]string
	// Real describes the changes after which a real agent runs the example, "" if it needs none.
	Real string
}

// Session is the name of the session in the commands of an example.
const Session = "try"

// examples lists the examples in the order in which they are best read.
var examples = []Example{
	{Name: "fixed-loop", Shows: "one stage, a fixed number of times"},
	{Name: "judged-loop", Shows: "a loop that ends when a judge no longer sees progress"},
	{Name: "queue", Shows: "a loop that ends when a list is worked off"},
	{Name: "handover", Shows: "stages that get the files of the project and the outputs of earlier stages"},
	{Name: "two-providers", Shows: "two providers side by side, and a stage that reads both"},
	{Name: "feedback", Shows: "a review that sends the work back with its findings"},
	{Name: "supervised", Shows: "the user's approval of each stage", Then: [][]string{{"approve", Session, "--resume"}}},
	{Name: "hooks", Shows: "scripts and checks at the points of a run"},
	{Name: "contract", Shows: "data between stages that has to fit a schema"},
	{Name: "steps", Shows: "a stage for each item of a list that an earlier stage made"},
	{Name: "wraps", Shows: "a command and another pipeline as stages"},
	{
		Name: "demo", Shows: "a feature from plan to review, with a judge between", Mock: ".claude/mock.json",
		Real: "put claude in the place of mock in .claude/pipelines/demo.yaml, twice",
	},
	{
		Name: "cycle", Shows: "plan, execute step by step, verify by measuring, review, and back", Mock: ".claude/mock.json",
		Real: "put claude in the place of mock in .claude/pipelines/cycle.yaml",
	},
}

// Examples returns all examples, in the order in which they are best read.
func Examples() []Example {
	all := slices.Clone(examples)
	for i := range all {
		if all[i].Mock == "" {
			all[i].Mock = ".claude/mock/" + all[i].Name + ".json"
		}
	}
	return all
}

//go:embed all:contract all:cycle all:demo all:feedback all:fixed-loop all:handover all:hooks all:judged-loop
//go:embed all:queue all:steps all:supervised all:two-providers all:wraps
var files embed.FS

// forReaders is the file that is not copied. It describes an example to readers of the repository; the example's user
// reads the pipeline's comments.
const forReaders = "README.md"

// Files returns the contents of an example's files by their slash-separated paths relative to the project.
func (e Example) Files() (map[string][]byte, error) {
	all := map[string][]byte{}
	err := fs.WalkDir(files, e.Name, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || name == path.Join(e.Name, forReaders) {
			return err
		}
		all[name[len(e.Name)+1:]], err = files.ReadFile(name)
		return err
	})
	return all, err
}
