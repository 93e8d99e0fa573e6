package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Program is the name of the command.
const Program = "agent-pipelines"

// GlobalFlags holds the flags of every verb.
type GlobalFlags struct {
	JSON      bool     `name:"json" help:"Print JSON: one object, preceded by one event per line while a session runs."`
	Quiet     bool     `short:"q" xor:"talk" help:"Print no progress."`
	Verbose   bool     `short:"v" xor:"talk" help:"Print more progress, including the agents' text."`
	NoColor   bool     `help:"Do not use colors (same as NO_COLOR)."`
	LogLevel  string   `enum:"trace,debug,info,warn,error,off" default:"warn" env:"AGENT_PIPELINES_LOG_LEVEL" placeholder:"LEVEL" help:"Log level: trace, debug, info, warn, error or off (default warn)."`
	PluginLog string   `name:"plugin-log-level" enum:"trace,debug,info,warn,error,off," default:"" env:"AGENT_PIPELINES_PLUGIN_LOG_LEVEL" placeholder:"LEVEL" help:"Log level of plugins (default: as --log-level)."`
	LogFormat string   `enum:"pretty,json" default:"pretty" placeholder:"FORMAT" help:"Log format: pretty or json (default pretty)."`
	PluginDir []string `type:"path" sep:"none" placeholder:"DIR" help:"Search this directory for plugins first; repeatable."`
	NoBundled bool     `help:"Do not use the bundled plugins (same as AGENT_PIPELINES_BUNDLED=0)."`
	Verb      bool     `hidden:"" help:"Treat the first word as a verb even if a stage has its name."`
	Usage     bool     `name:"help" short:"h" help:"Show help."`
}

// Arguments returns the flags for a child process of this program that behaves the same way. They do not include
// --json.
func (s GlobalFlags) Arguments() []string {
	args := []string{"--log-level=" + s.LogLevel, "--log-format=" + s.LogFormat}
	if s.PluginLog != "" {
		args = append(args, "--plugin-log-level="+s.PluginLog)
	}
	for _, dir := range s.PluginDir {
		args = append(args, "--plugin-dir="+dir)
	}
	for _, flag := range []struct {
		set  bool
		name string
	}{{s.Quiet, "--quiet"}, {s.Verbose, "--verbose"}, {s.NoColor, "--no-color"}, {s.NoBundled, "--no-bundled"}} {
		if flag.set {
			args = append(args, flag.name)
		}
	}
	return args
}

// Age is a duration flag: "30d", "2w", or in Go's syntax "36h" or "1h30m".
type Age time.Duration

const day = 24 * time.Hour

// MaxAge is the longest age that UnmarshalText accepts: 100 years.
const MaxAge = 100 * 365 * day

// UnmarshalText implements [encoding.TextUnmarshaler].
func (a *Age) UnmarshalText(text []byte) error {
	d, err := parseAge(string(text))
	if err != nil || d < 0 || d > MaxAge {
		return fmt.Errorf("%q is not an age: write 30d, 2w or 36h", text)
	}
	*a = Age(d)
	return nil
}

func parseAge(text string) (time.Duration, error) {
	for suffix, unit := range map[string]time.Duration{"d": day, "w": 7 * day} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			n, err := strconv.ParseUint(number, 10, 63)
			return time.Duration(min(n, uint64(MaxAge/unit)+1)) * unit, err // the product cannot overflow
		}
	}
	return time.ParseDuration(text)
}
