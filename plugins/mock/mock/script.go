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

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// script is the complete configuration of one request.
type script struct {
	sources  []source
	fixtures fixtures
	delay    time.Duration
}

// source is one configuration and its digest.
type source struct {
	digest [sha256.Size]byte
	config Config
}

// loadScript reads the configurations of the request, in order of precedence.
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

// recordFiles returns the files to which the request is appended.
func (s script) recordFiles(workDir string) []string {
	var files []string
	for _, source := range s.sources {
		if source.config.Record != "" {
			files = append(files, absolutePath(workDir, source.config.Record))
		}
	}
	return files
}

// useCounter counts the uses of replies with a limit, per session, in this process. It is safe for concurrent use.
type useCounter struct {
	mu    sync.Mutex
	count map[string]int
}

// chooseReply returns the first reply that matches the request and counts its use; the zero Reply if none matches.
func (u *useCounter) chooseReply(s script, req sdk.ExecuteRequest, provider string) Reply {
	for _, source := range s.sources {
		for i, reply := range source.config.Replies {
			if reply.matches(req, provider) && u.countUse(fmt.Sprintf("%x/%d/%s", source.digest, i, req.Session), reply.Times) {
				return reply
			}
		}
	}
	return Reply{}
}

// countUse counts one use; it reports false if the limit is reached. A limit of 0 is no limit.
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
