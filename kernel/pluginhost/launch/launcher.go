package launch

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// DefaultStartTimeout is the time that a plugin may take from its start to its first answer after the handshake.
const DefaultStartTimeout = 10 * time.Second

// Config configures a [Launcher].
type Config struct {
	// Spawner starts the processes. The caller closes it after the last instance has stopped.
	Spawner *process.Spawner
	// Marker is set in the environment of every process.
	Marker process.Marker
	// Table searches for processes that left the group of their plugin. Nil: each plugin has its own table.
	Table *process.Table
	// Logger is the launcher's own log.
	Logger hclog.Logger
	// PluginLogger gets the lines of the plugins' stderr and stdout, under the plugin's name.
	PluginLogger hclog.Logger
	// StartTimeout bounds the time from the start to the first answer; zero is [DefaultStartTimeout].
	StartTimeout time.Duration
	// SocketBases are the directories for socket directories; the first short directory is used. Empty: $XDG_RUNTIME_DIR,
	// the temporary directory, /tmp.
	SocketBases []string
	// Sandbox confines the plugins whose request has a policy.
	Sandbox sandboxpolicy.Confiner
	// Redactor removes secrets from the output of plugins before it is logged or put into a failure.
	Redactor *redact.Redactor
	// Client are options of the protocol's client, such as the longest silence of a plugin.
	Client []client.Option
}

// Redact sets the redactor for processes started later. No start may be in progress.
func (l *Launcher) Redact(r *redact.Redactor) { l.cfg.Redactor = r }

// Launcher starts plugins. It is safe for concurrent use.
type Launcher struct {
	cfg    Config
	number atomic.Int64
	sweep  sync.Once // for the socket directories of killed kernels
}

// New returns a Launcher.
func New(cfg Config) *Launcher {
	if cfg.StartTimeout <= 0 {
		cfg.StartTimeout = DefaultStartTimeout
	}
	if len(cfg.SocketBases) == 0 {
		cfg.SocketBases = []string{os.Getenv("XDG_RUNTIME_DIR"), os.TempDir(), "/tmp"}
	}
	l := &Launcher{cfg: cfg}
	l.number.Store(rand.Int64N(1 << 24)) // other launchers of this program may have the same marker
	return l
}

// StartRequest describes the plugin process to start.
type StartRequest struct {
	// Binary is the verified file; the caller closes it after Start has returned.
	Binary *catalog.Binary
	// Env is the plugin's environment; handshake and marker variables are added.
	Env []string
	// Dir is the working directory.
	Dir string
	// MTLS secures the socket by mutual TLS; the plugin must support it.
	MTLS bool
	// Policy confines the process. Its WorkDir defaults to Dir. Nil: it is not confined.
	Policy *sandboxpolicy.Policy
	// OnLeak is called with the processes of the plugin that had left its group and were ended after it. Nil:
	// none.
	OnLeak func([]process.Survivor)
}

// Start starts the plugin and returns when it answers. If ctx is cancelled, the process ends and the error is
// the cause; all other errors are failures.
func (l *Launcher) Start(ctx context.Context, o StartRequest) (*Instance, error) {
	l.sweep.Do(func() {
		if err := process.SweepSocketDirs(l.cfg.SocketBases...); err != nil {
			l.cfg.Logger.Debug("could not remove all socket directories of killed kernels", "error", err)
		}
	})
	policy, obtained, err := l.sandboxPolicy(ctx, o)
	if err != nil {
		return nil, err
	}
	dir, temp, err := l.makeDirs(policy != nil)
	if err != nil {
		return nil, socketError(o.Binary.Command(), err)
	}
	i := &Instance{
		command:      o.Binary.Command(),
		name:         o.Binary.Name,
		socket:       socket{dir: dir},
		policy:       policy,
		capabilities: obtained,
		redactor:     l.cfg.Redactor,
		logger:       l.cfg.Logger,
		child: process.New(l.cfg.Spawner, process.Spec{
			Path: o.Binary.Path, Args: o.Binary.Args, Binary: o.Binary.File, Env: o.Env, Dir: o.Dir,
			Policy: policy, Sandbox: l.cfg.Sandbox, Temp: temp,
			Marker: l.cfg.Marker, Number: int(l.number.Add(1)), Table: l.cfg.Table, OnLeak: o.OnLeak,
		}),
	}
	config, err := l.clientConfig(o, i)
	if err != nil {
		return nil, errors.Join(err, dir.Remove())
	}
	i.plugin = goplugin.NewClient(config)
	if err := l.connect(ctx, o, i); err != nil {
		i.discard()
		return nil, err
	}
	return i, nil
}

// sandboxPolicy returns the request's policy, nil for none, and its available capabilities.
func (l *Launcher) sandboxPolicy(ctx context.Context, o StartRequest) (*sandboxpolicy.Policy, sandboxpolicy.Capabilities, error) {
	if o.Policy == nil {
		return nil, sandboxpolicy.Capabilities{Mode: sandboxpolicy.None, Network: sandboxpolicy.On}, nil
	}
	b := *o.Policy
	b.WorkDir = cmp.Or(b.WorkDir, o.Dir)
	obtained, err := l.cfg.Sandbox.Check(ctx, b)
	if obtained.Mode == sandboxpolicy.None {
		return nil, obtained, err // the best available confinement is none
	}
	return &b, obtained, err
}

// makeDirs makes the socket directory and, for a confined process, a directory for temporary files in it. That
// directory is on a disk if possible, because programs that the process builds should not take memory.
func (l *Launcher) makeDirs(confined bool) (dir *process.SocketDir, temp string, err error) {
	bases := l.cfg.SocketBases
	if confined {
		bases = append(slices.Clone(bases[1:]), bases[0])
	}
	if dir, err = process.NewSocketDir(bases...); err != nil || !confined {
		return dir, "", err
	}
	temp = filepath.Join(dir.Path(), "tmp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		return nil, "", errors.Join(err, dir.Remove())
	}
	return dir, temp, nil
}

func (l *Launcher) clientConfig(o StartRequest, i *Instance) (*goplugin.ClientConfig, error) {
	secured := &tls.Config{} // go-plugin writes into it, if the handshake line has a certificate
	var env []string
	dial := append(client.DialOptions(), grpc.WithContextDialer(i.socket.dial))
	if o.MTLS {
		config, variable, err := client.MutualTLS()
		if err != nil {
			return nil, err
		}
		secured, env = config, []string{variable}
	} else {
		dial = append(dial, grpc.WithTransportCredentials(insecure.NewCredentials()))
	}
	log := l.cfg.PluginLogger.Named(i.name)
	return &goplugin.ClientConfig{
		HandshakeConfig:  client.Handshake(),
		VersionedPlugins: client.PluginSets(),
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		SkipHostEnv:      true,
		TLSConfig:        secured,
		StartTimeout:     l.cfg.StartTimeout,
		Logger:           quietLogger{l.cfg.Logger},
		SyncStdout:       NewLogWriter(log, l.cfg.Redactor),
		SyncStderr:       NewLogWriter(log, l.cfg.Redactor),
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: i.socket.dir.Path()},
		GRPCDialOptions:  dial,
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, socketDir string) (runner.Runner, error) {
			i.child.Configure(slices.Concat(cmd.Env, env), socketDir)
			return &loggedProcess{Process: i.child, log: NewLogWriter(log, l.cfg.Redactor), wait: &i.wait}, nil
		},
	}, nil
}

// connect makes the handshake and waits for the first answer. go-plugin's Start cannot be cancelled, but it
// returns when the process is gone.
func (l *Launcher) connect(ctx context.Context, o StartRequest, i *Instance) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	unwatch := context.AfterFunc(ctx, i.Kill)
	defer unwatch()
	begun := time.Now()
	address, err := i.plugin.Start()
	if err != nil {
		timedOut := time.Since(begun) >= l.cfg.StartTimeout
		return i.startError(ctx, err, timedOut)
	}
	i.socket.address = address.String()
	if err := l.awaitHealth(ctx, i, l.cfg.StartTimeout-time.Since(begun)); err != nil {
		return i.answerError(ctx, err, o.MTLS)
	}
	return nil
}

// awaitHealth waits for the first answer, at most for the time left. go-plugin connects without a
// deadline, so only the end of the process ends the wait.
func (l *Launcher) awaitHealth(ctx context.Context, i *Instance, left time.Duration) error {
	late := time.AfterFunc(left, func() {
		i.timedOut.Store(true)
		i.Kill()
	})
	defer late.Stop()
	protocol, err := i.plugin.Client()
	if err != nil {
		return err
	}
	if i.client, err = client.New(protocol, l.cfg.Client...); err != nil {
		return err
	}
	return i.health(ctx, left)
}
