package judge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Limits of the texts in a judge's prompt, in bytes. A longer file keeps its end, and a longer history keeps its newest
// iterations.
const (
	maxOutputBytes   = 128 << 10
	maxProgressBytes = 64 << 10
	maxHistoryBytes  = 256 << 10
)

// fillTemplate replaces the variables of the template. It does not search the replacements for variables.
func fillTemplate(template string, c settings, req sdk.DecideRequest) (string, error) {
	var current string
	var err error
	earlier := req.Outputs
	if n := len(earlier); n > 0 {
		current, err = readTail(earlier[n-1].Path, maxOutputBytes)
		earlier = earlier[:n-1]
	}
	if err != nil {
		return "", err
	}
	history, err := readHistory(earlier, req.Iteration-1)
	if err != nil {
		return "", err
	}
	progress, err := readTail(req.Progress.Path, maxProgressBytes)
	if err != nil {
		return "", err
	}
	return strings.NewReplacer(
		"${STAGE_NAME}", cmp.Or(req.Stage, req.Node),
		"${ITERATION}", strconv.Itoa(req.Iteration),
		"${TERMINATION_CRITERIA}", jsonText(c.Criteria),
		"${RESULT_JSON}", compactJSON(req.Result),
		"${PROGRESS_MD}", progress,
		"${NODE_OUTPUT}", current,
		"${ITERATION_HISTORY}", history,
	).Replace(template), nil
}

// readHistory returns the outputs of the earlier iterations, oldest first; last is the number of the newest iteration.
func readHistory(outputs []sdk.FileRef, last int) (string, error) {
	var parts []string // newest first
	size := 0
	for _, output := range slices.Backward(outputs) {
		text, err := readTail(output.Path, maxOutputBytes)
		if err != nil {
			return "", err
		}
		part := fmt.Sprintf("### Iteration %d\n%s\n\n", last, text)
		if size += len(part); size > maxHistoryBytes {
			parts = append(parts, fmt.Sprintf("[the iterations up to %d are left out]\n\n", last))
			break
		}
		parts = append(parts, part)
		last--
	}
	slices.Reverse(parts)
	return strings.Join(parts, ""), nil
}

// readTail returns the end of a file as valid UTF-8 without trailing newlines, "" for a missing file.
func readTail(path string, limit int64) (string, error) {
	if path == "" {
		return "", nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", failure.New(failure.StrategyFailed, "judge: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", failure.New(failure.StrategyFailed, "judge: %w", err)
	}
	omitted := max(info.Size()-limit, 0)
	raw, err := io.ReadAll(io.NewSectionReader(f, omitted, limit))
	if err != nil {
		return "", failure.New(failure.StrategyFailed, "judge: read %s: %w", path, err)
	}
	text := strings.TrimRight(strings.ToValidUTF8(string(raw), "\uFFFD"), "\n")
	if omitted > 0 {
		text = fmt.Sprintf("[the first %d bytes are left out]\n%s", omitted, text)
	}
	return text, nil
}

// jsonText returns the value of a JSON string, or other JSON in its shortest form.
func jsonText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return compactJSON(raw)
}

// compactJSON returns JSON in its shortest form, {} if it is empty or invalid.
func compactJSON(raw json.RawMessage) string {
	var short bytes.Buffer
	if len(raw) == 0 || json.Compact(&short, raw) != nil {
		return "{}"
	}
	return short.String()
}
