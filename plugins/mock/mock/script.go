package mock

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// script is everything that is configured for one request.
type script struct {
	sources  []source
	fixtures fixtures
	delay    time.Duration
}

// source is one configuration and what tells it from others.
type source struct {
	digest [sha256.Size]byte
	config Config
}

// loadScript reads the configurations that hold for the request, in the order in which they are asked.
func loadScript(req sdk.ExecuteRequest, env environment) (script, error) {
	delay, err := env.delay()
	if err != nil {
		return script{}, err
	}
	s := script{delay: delay, fixtures: fixtures(absolutePath(req.WorkDir, env.get(envFixtures)))}
	if err := s.addConfig(req.Config); err != nil {
		return script{}, err
	}
	if path := env.get(envConfig); path != "" {
		if err := s.addConfigFile(absolutePath(req.WorkDir, path), true); err != nil {
			return script{}, err
		}
	}
	for _, source := range s.sources {
		if source.config.FixturesDir != "" {
			s.fixtures = fixtures(absolutePath(req.WorkDir, source.config.FixturesDir))
			break
		}
	}
	if err := s.fixtures.check(); err != nil {
		return script{}, err
	}
	if s.fixtures != "" {
		if err := s.addConfigFile(filepath.Join(string(s.fixtures), "mock.json"), false); err != nil {
			return script{}, err
		}
	}
	for _, source := range s.sources {
		if source.config.DelayMS != nil {
			s.delay = milliseconds(*source.config.DelayMS)
			break
		}
	}
	return s, nil
}

func (s *script) addConfigFile(path string, required bool) error {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !required {
		return nil
	}
	if err != nil {
		return failure.New(failure.ConfigInvalid, "read %s: %w", envConfig, err)
	}
	if err := s.addConfig(raw); err != nil {
		e := *failure.From(err)
		e.Message = path + ": " + e.Message
		return &e
	}
	return nil
}

func (s *script) addConfig(raw json.RawMessage) error {
	c, err := decodeConfig(raw)
	if err != nil {
		return err
	}
	s.sources = append(s.sources, source{digest: sha256.Sum256(raw), config: c})
	return nil
}

// recordFiles are the files to which the request is to be appended.
func (s script) recordFiles(workDir string) []string {
	var files []string
	for _, source := range s.sources {
		if source.config.Record != "" {
			files = append(files, absolutePath(workDir, source.config.Record))
		}
	}
	return files
}

// useCounter counts how often the replies with a limit were used in this process, for each session. It is safe for
// concurrent use.
type useCounter struct {
	mu    sync.Mutex
	count map[string]int
}

// chooseReply finds the reply for the request and counts its use; the zero Reply if none matches.
func (u *useCounter) chooseReply(s script, req sdk.ExecuteRequest, standsFor string) Reply {
	for _, source := range s.sources {
		for i, reply := range source.config.Replies {
			if reply.matches(req, standsFor) && u.countUse(fmt.Sprintf("%x/%d/%s", source.digest, i, req.Session), reply.Times) {
				return reply
			}
		}
	}
	return Reply{}
}

// countUse uses something up; it reports false when nothing is left of it.
func (u *useCounter) countUse(key string, limit int) bool {
	if limit == 0 {
		return true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.count[key] >= limit {
		return false
	}
	if u.count == nil {
		u.count = make(map[string]int)
	}
	u.count[key]++
	return true
}

// absolutePath is path relative to dir; "" stays "".
func absolutePath(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
