package gate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// Record is what ratios were when they were recorded.
type Record struct {
	// Made says on which machine and when; "": no ratios were recorded yet, only room and reasons are there.
	Made string `json:"made"`
	Rows []Row  `json:"rows"`
}

// Row is one ratio.
type Row struct {
	// Key is that of the row of the table, Part the part of the measurement that makes it.
	Key  string `json:"key"`
	Part string `json:"part"`
	// Ratio is the recorded one. Less is better.
	Ratio float64 `json:"ratio"`
	// Room is how many times the recorded ratio may be measured; over 1.
	Room float64 `json:"room"`
	// Why says where the room is needed for.
	Why string `json:"why"`
}

// Most is the highest ratio that passes.
func (r Row) Most() float64 { return r.Ratio * r.Room }

// Read reads a record from a JSON file. It is an error if a row says not all, or two have one key.
func Read(file string) (Record, error) {
	var r Record
	text, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, fmt.Errorf("read ratios from %s: %w", file, err)
	}
	if err := r.check(); err != nil {
		return r, fmt.Errorf("read ratios from %s: %w", file, err)
	}
	return r, nil
}

func (r Record) check() error {
	if len(r.Rows) == 0 {
		return fmt.Errorf("there are none")
	}
	known := map[string]bool{}
	for _, row := range r.Rows {
		switch {
		case row.Key == "" || row.Part == "" || row.Why == "":
			return fmt.Errorf("row %q needs key, part and why", row.Key)
		case row.Ratio < 0 || row.Ratio == 0 && r.Made != "" || row.Room <= 1:
			return fmt.Errorf("row %q needs a ratio, and room over 1", row.Key)
		case known[row.Key]:
			return fmt.Errorf("row %q is there twice", row.Key)
		}
		known[row.Key] = true
	}
	return nil
}

// Write writes the record as a JSON file for people.
func (r Record) Write(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// Parts are the parts of the measurement that make the rows, each once.
func (r Record) Parts() []string {
	var parts []string
	for _, row := range r.Rows {
		if !slices.Contains(parts, row.Part) {
			parts = append(parts, row.Part)
		}
	}
	return parts
}
