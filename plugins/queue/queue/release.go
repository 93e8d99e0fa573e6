package queue

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Release implements [sdk.Releaser]: the session's beads that are in progress become open again, since
// nobody works on them any more. Without bd there is nothing to give back. A bead that cannot be
// reopened does not keep the others from it; the errors are joined.
//
// Queues of a command of one's own are left alone: only their owner knows what taking an item means.
func (s *Strategy) Release(ctx context.Context, session string) error {
	if _, err := findProgram(s.env(), Command{beadsProgram}); err != nil {
		return nil //nolint:nilerr // no bd, no beads
	}
	s.mu.Lock()
	dir := s.workDir
	s.mu.Unlock()
	bd := func(args ...string) (*lineBuffer, error) {
		return s.run(ctx, commandRun{command: append(Command{beadsProgram}, args...), dir: dir, timeout: defaultTimeout})
	}
	printed, err := bd("list", "--label="+s.label(Config{}, session), "--status=in_progress", "--json")
	if err != nil {
		return err
	}
	ids, err := beadIDs(printed.text.String())
	if err != nil {
		return err
	}
	var faults []error
	for _, id := range ids {
		_, err := bd("update", id, "--status=open")
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// beadIDs reads the list that bd prints as JSON; no text at all is an empty list.
func beadIDs(text string) ([]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var list []struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, failure.New(failure.StrategyFailed, "queue: the list that bd printed: %w", err)
	}
	var ids []string
	for _, bead := range list {
		// An id that looks like an option is none that bd made.
		if bead.ID != "" && !strings.HasPrefix(bead.ID, "-") {
			ids = append(ids, bead.ID)
		}
	}
	return ids, nil
}
