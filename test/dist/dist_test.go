//go:build dist

package dist

import (
	"bufio"
	"debug/elf"
	"debug/macho"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// U293: TestBinaries checks that the command and each plugin are built for four systems. Programs for Linux are
// static, and programs for macOS link only libraries of the system.
func TestBinaries(t *testing.T) {
	want := len(plugins(t)) + 1
	count := map[string]int{}
	for _, a := range artifacts(t, root, "Binary") {
		count[a.OS+"/"+a.Arch]++
		if a.OS == "linux" {
			static(t, a)
		} else {
			ofSystem(t, a)
		}
	}
	for _, on := range []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"} {
		if count[on] != want {
			t.Errorf("%d binaries for %s, want %d", count[on], on, want)
		}
	}
	if len(count) != 4 {
		t.Errorf("built for %v", count)
	}
}

func static(t *testing.T, a artifact) {
	t.Helper()
	f, err := elf.Open(a.Path)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	if machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[a.Arch]; f.Machine != machine {
		t.Errorf("%s is for %s", a.Path, f.Machine)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("%s is not static: it has a %s", a.Path, p.Type)
		}
	}
}

func ofSystem(t *testing.T, a artifact) {
	t.Helper()
	f, err := macho.Open(a.Path)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	if cpu := map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}[a.Arch]; f.Cpu != cpu {
		t.Errorf("%s is for %s", a.Path, f.Cpu)
	}
	libraries, err := f.ImportedLibraries()
	if err != nil {
		t.Error(err)
	}
	for _, l := range libraries {
		if !strings.HasPrefix(l, "/usr/lib/") && !strings.HasPrefix(l, "/System/Library/") {
			t.Errorf("%s needs %s", a.Path, l)
		}
	}
}

// TestChecksums checks that the list has the checksum of every published file, and of no other file.
func TestChecksums(t *testing.T) {
	list := artifacts(t, root, "Checksum")[0]
	f, err := os.Open(list.Path)
	check(t, err)
	defer f.Close()
	said := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		sum, name, _ := strings.Cut(lines.Text(), "  ")
		said[name] = sum
	}
	for _, kind := range []string{"Archive", "Linux Package", "SBOM"} {
		for _, a := range artifacts(t, root, kind) {
			if said[a.Name] != digest(t, a.Path) {
				t.Errorf("%s: checksum %q", a.Name, said[a.Name])
			}
			delete(said, a.Name)
		}
	}
	if len(said) > 0 {
		t.Errorf("checksums of what is not handed out: %v", said)
	}
}

// TestSBOM checks that each binary has a list of its modules, which names the SDK and gRPC.
func TestSBOM(t *testing.T) {
	documents := artifacts(t, root, "SBOM")
	if binaries := artifacts(t, root, "Binary"); len(documents) != len(binaries) {
		t.Errorf("%d lists for %d binaries", len(documents), len(binaries))
	}
	for _, a := range documents {
		text, err := os.ReadFile(a.Path)
		check(t, err)
		var made struct {
			Format     string `json:"bomFormat"`
			Components []struct{ Name string }
		}
		if err := json.Unmarshal(text, &made); err != nil || made.Format != "CycloneDX" {
			t.Errorf("%s: format %q, %v", a.Name, made.Format, err)
		}
		for _, module := range []string{"github.com/dodo-digital/agent-pipelines/plugin-sdk", "google.golang.org/grpc"} {
			if !slices.ContainsFunc(made.Components, func(c struct{ Name string }) bool { return c.Name == module }) {
				t.Errorf("%s does not name %s", a.Name, module)
			}
		}
	}
}

// ofThisMachine returns the archive or package for this system.
func ofThisMachine(t *testing.T, kind, suffix string) artifact {
	t.Helper()
	for _, a := range artifacts(t, root, kind) {
		if a.OS == runtime.GOOS && a.Arch == runtime.GOARCH && strings.HasSuffix(a.Name, suffix) {
			return a
		}
	}
	t.Fatalf("no %s%s for %s/%s", kind, suffix, runtime.GOOS, runtime.GOARCH)
	return artifact{}
}

// TestArchive checks that the unpacked archive has exactly the expected files, and that its command runs the
// demonstration with its plugins.
func TestArchive(t *testing.T) {
	dir := t.TempDir()
	names := unpack(t, ofThisMachine(t, "Archive", ".tar.gz").Path, dir)
	want := []string{"agent-pipelines", "LICENSE", "README.md", "CHANGELOG.md"}
	for _, p := range plugins(t) {
		want = append(want, "plugins/agent-plugin-"+p)
	}
	for _, s := range shared(t) {
		want = append(want, "share/"+s)
	}
	for _, name := range want {
		if !names[name] {
			t.Errorf("%s is missing", name)
		}
		delete(names, name)
	}
	if len(names) > 0 {
		t.Errorf("nobody expects %v", names)
	}
	demo(t, filepath.Join(dir, "agent-pipelines"), filepath.Join(dir, "plugins"))
}

// TestDebianPackage checks that a shell finds the installed command and that the command finds its plugins.
func TestDebianPackage(t *testing.T) {
	dir := t.TempDir()
	if text, err := exec.Command("dpkg-deb", "-x", ofThisMachine(t, "Linux Package", ".deb").Path, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, s := range shared(t) {
		if info, err := os.Stat(filepath.Join(dir, "usr/share", s)); err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("%s: %v, %v", s, info, err)
		}
	}
	link, err := os.Readlink(filepath.Join(dir, "usr/bin/agent-pipelines"))
	check(t, err)
	lib := filepath.Join(dir, "usr/lib/agent-pipelines")
	if filepath.Join(dir, link) != filepath.Join(lib, "agent-pipelines") {
		t.Errorf("the command's link leads to %s", link)
	}
	demo(t, filepath.Join(lib, "agent-pipelines"), filepath.Join(lib, "plugins"))
}

// TestInstall checks that `make install` installs everything. If PATH lacks the directory, it prints the line that
// adds it.
func TestInstall(t *testing.T) {
	dir := t.TempDir()
	install := func(path string) string {
		c := exec.Command("make", "--no-print-directory", "install", "DESTDIR="+dir, "PREFIX=/opt/ap")
		c.Dir, c.Env = root, append(os.Environ(), "PATH="+path)
		text, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return string(text)
	}
	const line = `export PATH="/opt/ap/bin:$PATH"`
	if said := install(os.Getenv("PATH")); !strings.Contains(said, line) {
		t.Errorf("it does not say %s:\n%s", line, said)
	}
	if said := install(os.Getenv("PATH") + ":/opt/ap/bin"); strings.Contains(said, line) {
		t.Errorf("it says what is so already:\n%s", said)
	}
	for _, s := range shared(t) {
		if _, err := os.Stat(filepath.Join(dir, "opt/ap/share", s)); err != nil {
			t.Error(err)
		}
	}
	demo(t, filepath.Join(dir, "opt/ap/bin/agent-pipelines"), filepath.Join(dir, "opt/ap/lib/agent-pipelines/plugins"))
}

// demo runs the demonstration in an empty project without settings of the user, and checks that its plugin is in the
// directory plugins.
func demo(t *testing.T, command, plugins string) {
	t.Helper()
	project := t.TempDir()
	run := func(args ...string) string {
		c := exec.Command(command, args...)
		c.Dir = project
		c.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + filepath.Join(project, "home"), "TMPDIR=" + os.TempDir(), "MOCK_CONFIG=.claude/mock.json"}
		text, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, text)
		}
		return string(text)
	}
	run("init", "--example", "demo")
	run("pipeline", "demo", "demo", "--foreground")
	var s struct{ Status string }
	if err := json.Unmarshal([]byte(run("status", "demo", "--json")), &s); err != nil || s.Status != "completed" {
		t.Errorf("the demonstration is %q, %v", s.Status, err)
	}
	journal, err := os.ReadFile(filepath.Join(project, ".claude/pipeline-runs/demo/events.jsonl"))
	check(t, err)
	if !strings.Contains(string(journal), fmt.Sprintf(`"plugin":%q`, filepath.Join(plugins, "agent-plugin-mock"))) {
		t.Errorf("the mock is not that of %s", plugins)
	}
	if told := run("version"); !strings.Contains(told, "commit "+head(t)) {
		t.Errorf("the version says %s", told)
	}
}

func head(t *testing.T) string {
	t.Helper()
	text, err := exec.Command("git", "-C", root, "rev-parse", "HEAD").Output()
	check(t, err)
	return strings.TrimSpace(string(text))
}

// TestReproducibleBuild checks that a build in another directory with an empty cache produces the same binaries for this
// system, byte for byte.
func TestReproducibleBuild(t *testing.T) {
	program := os.Getenv("GORELEASER")
	if program == "" {
		t.Fatal("GORELEASER says nothing: make dist-check runs this")
	}
	copied := filepath.Join(t.TempDir(), "another", "place")
	checkout(t, copied)
	c := exec.Command(program, "build", "--snapshot", "--single-target", "--skip=before")
	c.Dir = copied
	c.Env = append(os.Environ(), "GOCACHE="+t.TempDir(), "GORELEASER_CURRENT_TAG=")
	if text, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	first := map[string]artifact{}
	for _, a := range artifacts(t, root, "Binary") {
		first[a.OS+"/"+a.Arch+" "+a.Name] = a
	}
	for _, again := range artifacts(t, copied, "Binary") {
		a, built := first[again.OS+"/"+again.Arch+" "+again.Name]
		if !built || digest(t, a.Path) != digest(t, again.Path) {
			t.Errorf("%s is another one", again.Name)
		}
	}
}

// checkout copies the working tree and its repository into dir.
func checkout(t *testing.T, dir string) {
	t.Helper()
	sh := `set -e; mkdir -p "$1"; cp -R .git "$1/.git"; git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' f; do
		[ ! -e "$f" ] || { mkdir -p "$1/$(dirname "$f")"; cp -P "$f" "$1/$f"; }; done`
	c := exec.Command("bash", "-c", sh, "bash", dir)
	c.Dir = root
	if text, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}
