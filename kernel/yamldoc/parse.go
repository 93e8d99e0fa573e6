package yamldoc

import (
	"bytes"
	"errors"
	"io"

	"gopkg.in/yaml.v3"
)

// Parse reads one document. The tree is nil if the document is empty or has no tree because of its faults.
// Otherwise the tree is usable despite faults, so that a caller can report more of them. Parse is safe for
// concurrent use and does not keep data.
func Parse(data []byte) (*Node, []Fault) {
	if len(data) > MaxBytes {
		return nil, []Fault{faultf(CodeSize, Pos{1, 1}, "split the file or move long prompts into files",
			"the file has %d bytes, more than the %d allowed", len(data), MaxBytes)}
	}
	return ParseData(data)
}

// ParseData is [Parse] without the limit of the size, for data that is not written by a user.
func ParseData(data []byte) (*Node, []Fault) {
	if fault, bad := badCharacter(data); bad {
		return nil, []Fault{fault}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, []Fault{syntaxFault(data, err)}
	}
	c := converter{expanding: map[*yaml.Node]bool{}}
	root := c.value(&document, 0)
	if c.stopped {
		return nil, c.faults
	}
	if fault, bad := secondDocument(decoder, data); bad {
		c.faults = append(c.faults, fault)
	}
	return root, c.faults
}

// secondDocument returns a fault for anything after the first document.
func secondDocument(decoder *yaml.Decoder, data []byte) (Fault, bool) {
	var next yaml.Node
	switch err := decoder.Decode(&next); {
	case errors.Is(err, io.EOF):
		return Fault{}, false
	case err != nil:
		return syntaxFault(data, err), true
	default:
		return faultf(CodeDocuments, Pos{next.Line, next.Column}, "keep one document for each file",
			"the file holds more than one YAML document"), true
	}
}
