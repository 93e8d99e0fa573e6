package sandbox

// A Place is a row of [Base].
type Place struct {
	// Purpose says what the paths are for.
	Purpose string
	// Paths are absolute; missing paths are left out.
	Paths []string
}

// Base lists the files that every sandbox may read and execute, besides the files of its own [sandboxpolicy.Policy].
// Base contains no secret: not /etc/shadow, no private keys, no settings that hold tokens.
var Base = []Place{
	{"programs and libraries", []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/run/current-system",
	}},
	{"how programs are linked and found", []string{
		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/ld-musl-x86_64.path", "/etc/ld-musl-aarch64.path",
		"/etc/alternatives", "/etc/shells", "/etc/profile", "/etc/profile.d", "/etc/bash.bashrc", "/etc/bashrc", "/etc/inputrc",
	}},
	{"names of users, hosts and services", []string{
		"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/resolv.conf", "/run/systemd/resolve", "/run/resolvconf", "/etc/hosts", "/etc/host.conf", "/etc/hostname", "/etc/gai.conf",
		"/etc/services", "/etc/protocols", "/etc/networks",
	}},
	{"certificates", []string{
		"/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf",
		"/etc/pki/ca-trust", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/crypto-policies", "/etc/static/ssl/certs", "/var/lib/ca-certificates",
	}},
	{"time, language and terminal", []string{
		"/etc/localtime", "/etc/timezone", "/etc/locale.conf", "/etc/locale.alias", "/etc/default/locale", "/etc/terminfo", "/etc/fonts",
	}},
	{"settings of tools", []string{
		"/etc/gitconfig", "/etc/gitattributes", "/etc/mime.types", "/etc/magic", "/etc/os-release", "/etc/lsb-release", "/etc/debian_version",
		"/etc/python3", "/etc/perl", "/etc/java", "/etc/mtab",
	}},
	{"processes and processors", []string{"/proc", "/sys/devices/system/cpu"}},
}

// devices can be read and written. Under [sandboxpolicy.Strict] the sandbox also has its own terminals and shared memory.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// homeFiles are readable below the home directory, which is otherwise hidden, under [sandboxpolicy.Workspace]: git fails
// if it may not read an existing file. It may read the files that ~/.gitconfig includes, too.
var homeFiles = []string{".gitconfig", ".config/git"}

// tempVariable is the environment variable with a private directory of the process.
const tempVariable = "TMPDIR"
