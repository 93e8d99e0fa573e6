package engine

import (
	"fmt"
	"io/fs"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// copyLibrary copies the folders of shipped stages that the plan uses into the session, where the plan
// looks for their prompts: a session that is resumed by a newer program goes on with what it began with.
func (s *session) copyLibrary(folders []string) error {
	library := s.engine.config.library
	for _, folder := range folders {
		err := fs.WalkDir(library, folder, func(name string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := fs.Stat(library, name)
			if err != nil || !info.Mode().IsRegular() {
				return err
			}
			data, err := fs.ReadFile(library, name)
			if err != nil {
				return err
			}
			_, err = s.dir.Write(store.LibraryDir+"/"+name, data)
			return err
		})
		if err != nil {
			return fmt.Errorf("copy the shipped %s into the session: %w", folder, err)
		}
	}
	return nil
}
