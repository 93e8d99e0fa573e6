package sandbox

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
)

// Toolchains lists where compilers, interpreters, package managers and installed packages lie outside of the system's
// directories, as [sdk.Needs] writes paths. Files that may hold credentials, such as ~/.npmrc, ~/.cargo/credentials.toml and
// ~/.m2/settings.xml, are not below them. Sources: the manuals of the programs.
var Toolchains = []Place{
	{"Go", []string{"${GOROOT}", "${GOMODCACHE}", "${GOPATH}/pkg/mod", "${GOPATH}/bin", "~/go/pkg/mod", "~/go/bin", "~/sdk"}},
	{"Node.js", []string{"${NVM_DIR}", "~/.nvm", "${VOLTA_HOME}", "~/.volta", "${FNM_DIR}", "~/.fnm", "~/.local/share/fnm", "~/.nodenv", "${PNPM_HOME}", "~/.local/share/pnpm", "~/.bun", "~/.deno"}},
	{"Python", []string{"${VIRTUAL_ENV}", "${CONDA_PREFIX}", "${PYENV_ROOT}", "~/.pyenv", "~/.local/lib", "~/.local/share/uv", "~/.local/share/pipx", "~/miniconda3", "~/miniforge3", "~/anaconda3"}},
	{"Rust", []string{
		"${RUSTUP_HOME}", "~/.rustup", "${CARGO_HOME}/bin", "${CARGO_HOME}/registry", "${CARGO_HOME}/git", "${CARGO_HOME}/env",
		"~/.cargo/bin", "~/.cargo/registry", "~/.cargo/git", "~/.cargo/env",
	}},
	{"Java", []string{"${JAVA_HOME}", "${SDKMAN_DIR}", "~/.sdkman", "~/.jdks", "~/.m2/repository", "~/.m2/wrapper", "~/.gradle/caches", "~/.gradle/wrapper", "~/.gradle/jdks"}},
	{"version managers", []string{"${ASDF_DATA_DIR}", "~/.asdf", "${MISE_DATA_DIR}", "~/.local/share/mise", "~/.local/bin"}},
}

// cacheVariables maps the variables that name a program's cache to its directory below the project's caches. "" is all of
// them: many programs make their own directory in XDG_CACHE_HOME.
var cacheVariables = map[string]string{
	"XDG_CACHE_HOME": "", "GOCACHE": "go-build", "PIP_CACHE_DIR": "pip", "npm_config_cache": "npm", "GRADLE_USER_HOME": "gradle",
	"PYTHONPYCACHEPREFIX": "python", // an agent could leave compiled tests beside their sources
}

// privateDirs are directories of the home directory with keys and settings; "" is the home directory itself.
var privateDirs = []string{"", ".ssh", ".gnupg", ".aws", ".config", ".local/state", ".local/share/keyrings"}

// toolchains returns the existing paths of [Toolchains] and of the environment's PATH for a policy with Caches. A path that
// contains one of the private directories is never among them.
func toolchains(b sandboxpolicy.Policy, env []string) []string {
	if b.Caches == "" {
		return nil
	}
	asked := filepath.SplitList(lookup(env, "PATH"))
	for i, dir := range asked {
		if filepath.Base(dir) == "shims" { // of a version manager: its scripts start programs in other directories of it
			asked[i] = filepath.Dir(dir)
		}
	}
	for _, place := range Toolchains {
		asked = append(asked, place.Paths...)
	}
	resolver := sandboxpolicy.Resolver{Home: b.Home, Variable: func(name string) string { return lookup(env, name) }}
	var private []string
	for _, dir := range privateDirs {
		for _, home := range existing(b.Home) {
			private = append(private, filepath.Join(home, dir))
		}
	}
	if state := lookup(env, "XDG_STATE_HOME"); state != "" {
		private = append(private, existing(state)...)
	}
	return slices.DeleteFunc(resolver.ResolveNeeds(asked), func(path string) bool {
		return slices.ContainsFunc(private, func(dir string) bool { return sandboxpolicy.Within(dir, path) })
	})
}

// makeCaches makes the directory for the caches of a policy, and returns it with the variables that lead there. A variable
// that leads to a writable path stays as it is. Where the directory cannot be made, the caches are in the program's directory
// for temporary files.
func makeCaches(b sandboxpolicy.Policy, p sandboxpolicy.Program) (dirs []string, variables map[string]string) {
	if b.Caches == "" {
		return nil, nil
	}
	project := sha256.Sum256([]byte(b.WorkDir))
	base := cmp.Or(lookup(p.Env, "XDG_CACHE_HOME"), filepath.Join(b.Home, ".cache"))
	dir := filepath.Join(base, "agent-pipelines", "caches", hex.EncodeToString(project[:8]), b.Caches)
	if !filepath.IsAbs(base) || os.MkdirAll(dir, 0o700) != nil {
		dir = p.Temp
	}
	variables = map[string]string{}
	for name, below := range cacheVariables {
		now := lookup(p.Env, name)
		if !slices.ContainsFunc(b.Write, func(granted string) bool { return granted != "" && sandboxpolicy.Within(now, granted) }) {
			variables[name] = filepath.Join(dir, below)
		}
	}
	if installed := existing(filepath.Join(b.Home, ".gradle", "caches")); len(installed) > 0 {
		variables["GRADLE_RO_DEP_CACHE"] = installed[0]
	}
	return []string{dir}, variables
}
