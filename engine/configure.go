package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// Layer is whose word a setting is.
type Layer string

// The layers of settings that lie in files, the one that wins first.
const (
	LayerProject Layer = "project"
	LayerUser    Layer = "user"
)

// Origin is a setting of one layer, as it stands there.
type Origin struct {
	Setting
	Layer Layer `json:"layer"`
	// Counts: it holds. Another layer's word on the same key is over one that does not.
	Counts bool `json:"counts"`
}

// Origins are all settings of all layers, sorted by key, the layer that wins first. It fails with [Diagnostics] if a file
// has faults.
func (e *Engine) Origins(ctx context.Context) ([]Origin, error) {
	s, err := e.Settings(ctx)
	if err != nil {
		return nil, err
	}
	catalog, err := newCatalog(ctx, e.host, nil)
	if err != nil {
		return nil, err
	}
	all := []Origin{}
	for _, l := range []struct {
		name Layer
		said settings.Settings
	}{{LayerProject, e.settings.project.Settings}, {LayerUser, e.settings.user.Settings}} {
		alone := settings.Layers{l.said}
		providers, _ := alone.Assign(catalog, nil) // what there is to say of it, the settings said
		var of Settings
		of.list(alone, providers)
		for _, row := range of.Settings {
			counts := slices.ContainsFunc(s.Settings, func(c Setting) bool { return c.From == row.From })
			all = append(all, Origin{row, l.name, counts})
		}
	}
	slices.SortStableFunc(all, func(a, b Origin) int { return strings.Compare(a.Key, b.Key) })
	return all, nil
}

// CheckSetting reports whether a name can be that of a setting; the error wraps [ErrOptions] and suggests one.
func CheckSetting(key string) error {
	if _, err := settings.ParseKey(key); err != nil {
		return fmt.Errorf("%w: %w", ErrOptions, err)
	}
	return nil
}

// SetSetting sets a key of the user's config.yaml, or of the project's, and makes the file if there is none. Comments and
// the other lines of the file stay. A text is taken as it is, other values are YAML. Nothing is written where the file has
// faults or would have some: the error is then [Diagnostics]. A key that does not exist is [ErrOptions]. This engine has
// read its settings before, and does not notice; the warnings are about the file as it is now.
func (e *Engine) SetSetting(ctx context.Context, layer Layer, key, value string) (Diagnostics, error) {
	k, err := settings.ParseKey(key)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	var found yamldoc.Diagnostics
	if layer == LayerProject {
		found, err = settings.SetProject(e.config.workDir, k, value)
	} else {
		found, err = settings.Set(filepath.Dir(e.settings.userFile), e.settings.foreign, k, value)
	}
	switch {
	case err != nil:
		return nil, err
	case found.HasErrors():
		return nil, found
	}
	now, err := e.config.readSettings()
	if err != nil {
		return nil, err
	}
	_, found, err = now.assign(ctx, e.host)
	return found, err
}
