package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// maxList limits the list of beads that Release keeps in memory, in bytes.
const maxList = 16 << 20

// Release implements [sdk.Releaser]: it reopens the session's beads that are in progress, since their session is
// dead. Without bd it does nothing. It tries all beads and joins their errors.
//
// Release has no configuration: it searches beads by the default label, not by a label that a node sets. It ignores the
// queue of a configured command, because only the owner of that queue knows how to return an item.
func (s *Strategy) Release(ctx context.Context, session string) error {
	if _, err := findProgram(s.env(), beadsProgram); err != nil {
		return nil //nolint:nilerr // no bd, no beads
	}
	s.mu.Lock()
	dir := s.workDir
	s.mu.Unlock()
	var list bytes.Buffer
	bd := func(args ...string) error {
		_, err := s.run(ctx, commandRun{
			command: append(Command{beadsProgram}, args...), dir: dir, timeout: defaultTimeout,
			line: func(line []byte) {
				if list.Len()+len(line) <= maxList {
					list.Write(line)
				}
			},
		})
		return err
	}
	if err := bd("list", "--label="+s.label(Config{}, session), "--status=in_progress", "--json"); err != nil {
		return err
	}
	ids, err := beadIDs(list.String())
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range ids {
		errs = append(errs, bd("update", id, "--status=open"))
	}
	return errors.Join(errs...)
}

// beadIDs returns the ids in the JSON list that bd prints; an empty text is an empty list.
func beadIDs(text string) ([]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var list []struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, failure.New(failure.StrategyFailed, "queue: read the list that bd printed: %w", err)
	}
	var ids []string
	for _, bead := range list {
		// bd makes no id that looks like an option.
		if bead.ID != "" && !strings.HasPrefix(bead.ID, "-") {
			ids = append(ids, bead.ID)
		}
	}
	return ids, nil
}
