//go:build crashpoints

package failpoint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCrashLosesPower checks the remaining content of a directory after a change and each kind of loss. The directory
// has the files old ("12") and gone ("3").
func TestCrashLosesPower(t *testing.T) {
	tests := []struct {
		name   string
		change func(d directory)
		want   map[string]string // by loss: the files and their contents
	}{
		{"nothing", func(directory) {}, map[string]string{"undone": "gone=3 old=12", "empty": "gone=3 old=12", "torn": "gone=3 old=12"}},
		{"a file grows", func(d directory) { d.write("old", "123456") }, map[string]string{"undone": "gone=3 old=12", "empty": "gone=3 old=12", "torn": "gone=3 old=1234"}},
		{"and is synced", func(d directory) { d.write("old", "123456"); AfterSync(d.path, "old") }, map[string]string{
			"undone": "gone=3 old=123456", "empty": "gone=3 old=123456", "torn": "gone=3 old=123456",
		}},
		{"a new file, synced without its name", func(d directory) { d.write("new", "n"); AfterSync(d.path, "new") }, map[string]string{
			"undone": "gone=3 old=12", "empty": "gone=3 new=n old=12", "torn": "gone=3 new=n old=12",
		}},
		{"a new file, synced with its name", func(d directory) { d.write("new", "n"); AfterSync(d.path, "new"); AfterSyncDir(d.path) }, map[string]string{
			"undone": "gone=3 new=n old=12", "empty": "gone=3 new=n old=12", "torn": "gone=3 new=n old=12",
		}},
		{"a file replaced and not synced", func(d directory) { d.write("temp", "abcd"); d.rename("temp", "old") }, map[string]string{
			"undone": "gone=3 old=12", "empty": "gone=3 old=", "torn": "gone=3 old=ab",
		}},
		{"a file replaced in the right order", func(d directory) {
			d.write("temp", "abcd")
			AfterSync(d.path, "temp")
			d.rename("temp", "old")
			AfterSyncDir(d.path)
		}, map[string]string{"undone": "gone=3 old=abcd", "empty": "gone=3 old=abcd", "torn": "gone=3 old=abcd"}},
		{"a file replaced, the name alone synced", func(d directory) { d.write("temp", "abcd"); d.rename("temp", "old"); AfterSyncDir(d.path) }, map[string]string{
			"undone": "gone=3 old=", "empty": "gone=3 old=", "torn": "gone=3 old=ab",
		}},
		{"a file removed", func(d directory) { d.remove("gone") }, map[string]string{"undone": "gone=3 old=12", "empty": "old=12", "torn": "old=12"}},
		{"a directory and what is in it", func(d directory) {
			d.do(os.Mkdir(filepath.Join(d.path, "dir"), 0o700))
			AfterMkdir(d.path, "dir")
			d.write("dir/f", "f")
			AfterSync(d.path, "dir/f")
			AfterSyncDir(d.path, "dir")
		}, map[string]string{"undone": "gone=3 old=12", "empty": "dir/f=f gone=3 old=12", "torn": "dir/f=f gone=3 old=12"}},
	}
	for _, test := range tests {
		for loss, want := range test.want {
			t.Run(test.name+", "+loss, func(t *testing.T) {
				d := directory{t, t.TempDir()}
				d.put("old", "12")
				d.put("gone", "3")
				armed.power = newDiskState(loss)
				defer func() { armed.power = nil }()
				test.change(d)
				armed.power.losePower()
				if diff := cmp.Diff(want, d.content()); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// directory is a directory whose changes are announced, as the kernel announces its own.
type directory struct {
	t    *testing.T
	path string
}

func (d directory) do(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d directory) put(name, text string) {
	d.t.Helper()
	d.do(os.WriteFile(filepath.Join(d.path, name), []byte(text), 0o600))
}

func (d directory) write(name, text string) {
	d.t.Helper()
	BeforeWrite(d.path, name)
	d.put(name, text)
}

func (d directory) rename(from, to string) {
	d.t.Helper()
	BeforeRename(d.path, from, to)
	d.do(os.Rename(filepath.Join(d.path, from), filepath.Join(d.path, to)))
}

func (d directory) remove(name string) {
	d.t.Helper()
	BeforeRemove(d.path, name)
	d.do(os.Remove(filepath.Join(d.path, name)))
}

func (d directory) content() string {
	d.t.Helper()
	var all []string
	d.do(filepath.WalkDir(d.path, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, _ := filepath.Rel(d.path, path)
		b, err := os.ReadFile(path)
		all = append(all, name+"="+string(b))
		return err
	}))
	return strings.Join(all, " ")
}
