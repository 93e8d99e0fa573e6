package document

// Version is how the command was built.
type Version struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// Help is a text that explains something.
type Help struct {
	Subject string `json:"subject"`
	Text    string `json:"text"`
}

// Completion is a shell's script for completion.
type Completion struct {
	Shell  string `json:"shell"`
	Script string `json:"script"`
}

// SchemaFile is a schema that was written.
type SchemaFile struct {
	File    string `json:"file"` // pipeline, stage, config or output
	Name    string `json:"name,omitempty"`
	Written string `json:"written"`
}

// Schemas lists the schemas of all documents.
type Schemas struct {
	Schemas []Schema `json:"schemas"`
}

// Schema describes the schema of one kind of document.
type Schema struct {
	Name     string   `json:"name"`
	ID       string   `json:"id"` // the value of "schema"; for an event, which has none, its name
	About    string   `json:"about"`
	Commands []string `json:"commands"`
}
