package loop

import (
	"bytes"
	_ "embed" // the schema of finish
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/schema"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
)

// finishTool is the name of the tool that ends the attempt.
const finishTool = "finish"

// Outcomes in a claim.
const (
	outcomeSuccess  = "success"
	outcomeFail     = "fail"
	outcomeEscalate = "escalate"
)

// claim is the model's statement in a call of finish.
type claim struct {
	Outcome  string          `json:"outcome"`
	Summary  string          `json:"summary"`
	Evidence string          `json:"evidence,omitempty"`
	Feedback string          `json:"feedback,omitempty"`
	Question string          `json:"question,omitempty"`
	Artifact json.RawMessage `json:"artifact,omitempty"`
	Files    []string        `json:"files,omitempty"`
}

// finish is the finish tool of one attempt.
type finish struct {
	parameters json.RawMessage
	schema     *schema.Schema
	// needsArtifact is true if the attempt must make an artifact; artifactSchema is its schema, nil for any artifact.
	needsArtifact  bool
	artifactSchema *schema.Schema
	// isStep is true if the attempt executes a step of a plan.
	isStep bool
	// handover is the name of the tool that takes the artifact, "" if finish takes it.
	handover string
}

// finishParameters is the schema of the arguments, without the artifact.
//
//go:embed finish.json
var finishParameters []byte

// newFinish returns the tool for a request. The tool takes an artifact if one is needed and no other tool takes it.
func newFinish(r sdk.ExecuteRequest, handover string) (*finish, error) {
	f := &finish{handover: handover, isStep: r.StepID != "", needsArtifact: len(r.ArtifactSchema) > 0 || r.Paths.Artifact != "" && r.StepID == ""}
	var parameters map[string]any
	if err := json.Unmarshal(finishParameters, &parameters); err != nil {
		return nil, err
	}
	properties, takesArtifact := parameters["properties"].(map[string]any), f.needsArtifact && handover == ""
	if takesArtifact {
		properties["artifact"] = true // the artifact's faults are reported separately
	}
	plain, err := json.Marshal(parameters)
	if err != nil {
		return nil, err
	}
	f.schema = schema.New(plain)
	if takesArtifact {
		properties["artifact"] = artifactParameter(r.ArtifactSchema)
	}
	if f.parameters, err = json.Marshal(parameters); err == nil && len(r.ArtifactSchema) > 0 {
		f.artifactSchema = schema.New(r.ArtifactSchema)
		err = f.artifactSchema.Check()
	}
	if err != nil {
		return nil, failure.New(failure.ConfigInvalid, "invalid schema of the artifact: %w", err)
	}
	return f, nil
}

// artifactParameter returns the artifact's schema if it can be part of another schema, else a schema of any object
// whose description holds it.
func artifactParameter(schema json.RawMessage) any {
	var object map[string]any
	if json.Unmarshal(schema, &object) != nil || strings.Contains(string(schema), `"$`) { // references are relative to the root
		return map[string]any{"type": "object", "description": "The artifact of this stage. It has to fit this JSON Schema: " + string(schema)}
	}
	return object
}

func (f *finish) definition() model.Tool {
	return model.Tool{
		Name: finishTool, Parameters: f.parameters,
		Description: "Ends your work. Call it once, alone, when the task is done, cannot be done, or needs the user.",
	}
}

// handoverTool returns the name of the tool that takes the artifact. It is "" for a step, without a name, or for an
// existing tool, whose arguments the kernel reads.
func handoverTool(r sdk.ExecuteRequest, tools []model.Tool) string {
	exists := func(t model.Tool) bool { return t.Name == r.ArtifactTool }
	if r.StepID != "" || r.ArtifactTool == finishTool || slices.ContainsFunc(tools, exists) {
		return ""
	}
	return r.ArtifactTool
}

// handoverDefinition returns the tool with the artifact's schema as its parameters.
func (f *finish) handoverDefinition(schema json.RawMessage) model.Tool {
	t := model.Tool{
		Name: f.handover, Parameters: schema,
		Description: "Hands over the artifact of this stage: its fields are the arguments. Call it before finish; what you hand over last counts.",
	}
	var object map[string]any
	if json.Unmarshal(schema, &object) != nil || object["type"] != "object" { // services require an object
		t.Parameters = json.RawMessage(`{"type":"object"}`)
		if len(schema) > 0 {
			t.Description += " They have to fit this JSON Schema: " + string(schema)
		}
	}
	return t
}

// step has the fields of a plan's item that the loop checks.
type step struct {
	Action       string          `json:"action"`
	Verification json.RawMessage `json:"verification"`
}

// verification is a step's check. If the item has a text instead, the text is for the agent alone.
type verification struct {
	Files   []string `json:"files"`
	Command string   `json:"command"`
}

// actionTools are the tools of which one must have succeeded, by the action of a step (REQUIREMENTS U166).
var actionTools = map[string][]string{
	"READ_FILE":        {"read_file"},
	"WRITE_FILE":       {"write_file", "modify_file"},
	"GENERATE_CODE":    {"write_file", "modify_file"},
	"MODIFY_FILE":      {"modify_file", "write_file"},
	"DELETE_FILE":      {"delete_file"},
	"CREATE_DIRECTORY": {"create_directory", "write_file"},
	"RUN_COMMAND":      {terminalTool},
	"ANALYZE_CODE":     {"read_file", "search_code", "list_directory"},
}

// terminalTool is the tool whose success depends on an exit code.
const terminalTool = "run_terminal"

// artifactFault returns the fault of the claim's artifact, or else of the artifact file.
func (f *finish) artifactFault(c claim, file string) string {
	give := "give it to finish as `artifact`"
	if f.handover != "" {
		give = "hand it over with " + f.handover
	}
	artifact, from := c.Artifact, "the artifact"
	if len(artifact) == 0 || string(artifact) == "null" {
		if file == "" {
			return "this stage makes an artifact: " + give
		}
		artifact, from = nil, "the artifact in "+file
		if text, err := os.ReadFile(file); err == nil {
			artifact = bytes.TrimSpace(text)
		}
		if len(artifact) == 0 {
			return "this stage makes an artifact: " + give + ", or write it to " + file
		}
		if !json.Valid(artifact) {
			return "" // YAML, which the kernel reads
		}
	}
	if f.artifactSchema == nil {
		return ""
	}
	if wrong := f.artifactSchema.Faults(artifact); wrong != "" {
		return from + " does not fit its schema:\n" + wrong
	}
	return ""
}

// readClaim decodes and checks the arguments of finish. The returned text is the arguments' fault, "" for none.
func (f *finish) readClaim(call model.Call) (claim, string) {
	if call.Malformed != "" {
		return claim{}, "the arguments are not a JSON object: " + call.Malformed
	}
	if wrong := f.schema.Faults(call.Args); wrong != "" {
		return claim{}, "the arguments of finish are wrong: " + wrong
	}
	var c claim
	if err := json.Unmarshal(call.Args, &c); err != nil {
		return claim{}, "the arguments of finish are wrong: " + err.Error()
	}
	if c.Outcome == outcomeEscalate && strings.TrimSpace(c.Question) == "" {
		return c, "escalate needs a question to the user"
	}
	return c, ""
}

// textClaim returns a claim for the second reply in a row without calls, if the attempt needs only text.
func (f *finish) textClaim(t *turn, silentReplies int) *claim {
	text := strings.TrimSpace(t.Reply.Text)
	if silentReplies < 2 || text == "" || f.needsArtifact || f.isStep {
		return nil
	}
	return &claim{Outcome: outcomeSuccess, Summary: text}
}

// missingFile returns the reason why a file that the step's verification names is missing, "" if none is missing.
func missingFile(dir string, files []string) (string, error) {
	if len(files) == 0 {
		return "", nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	for _, file := range files {
		if _, err := root.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return "the step's verification names the file " + file + ", which does not exist", nil
		} else if err != nil {
			return fmt.Sprintf("the step's verification names the file %s, which cannot be read: %v", file, err), nil
		}
	}
	return "", nil
}
