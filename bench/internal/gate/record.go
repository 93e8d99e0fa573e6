package gate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// Record holds recorded ratios.
type Record struct {
	// Machine describes the machine and the date. It is "" if no ratios are recorded yet.
	Machine string `json:"made"`
	Rows    []Row  `json:"rows"`
}

// Row is one ratio.
type Row struct {
	// Key is the key of the row in the table, Part the part of the measurement that returns the row.
	Key  string `json:"key"`
	Part string `json:"part"`
	// Ratio is the recorded ratio. Less is better.
	Ratio float64 `json:"ratio"`
	// Tolerance is the maximum factor over the recorded ratio, greater than 1.
	Tolerance float64 `json:"room"`
	// Why is the reason for the tolerance.
	Why string `json:"why"`
}

// Most returns the highest ratio that passes.
func (r Row) Most() float64 { return r.Ratio * r.Tolerance }

// Read reads a record from a JSON file. An incomplete row or a duplicate key is an error.
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
		return fmt.Errorf("the record has no rows")
	}
	known := map[string]bool{}
	for _, row := range r.Rows {
		switch {
		case row.Key == "" || row.Part == "" || row.Why == "":
			return fmt.Errorf("row %q needs key, part and why", row.Key)
		case row.Ratio < 0 || row.Ratio == 0 && r.Machine != "" || row.Tolerance <= 1:
			return fmt.Errorf("row %q needs a ratio, and a tolerance over 1", row.Key)
		case known[row.Key]:
			return fmt.Errorf("row %q is duplicated", row.Key)
		}
		known[row.Key] = true
	}
	return nil
}

// Write writes the record as an indented JSON file.
func (r Record) Write(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// Parts returns the parts of the measurement that make the rows, each once.
func (r Record) Parts() []string {
	var parts []string
	for _, row := range r.Rows {
		if !slices.Contains(parts, row.Part) {
			parts = append(parts, row.Part)
		}
	}
	return parts
}
