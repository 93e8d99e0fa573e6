package signing

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// These files are in the directory of the keys.
const (
	privateFile = "private.pem" // PKCS #8
	trustedFile = "trusted"     // see parseTrusted
)

// pemType is the type of the block in a private key's file (RFC 7468, section 10).
const pemType = "PRIVATE KEY"

// ErrInvalid means that a signature is not one of the user or of a key that the user trusts.
var ErrInvalid = errors.New("invalid signature")

// UntrustedError reports a signature that matches its content, but was made with a key that the user does not trust. It
// wraps [ErrInvalid].
type UntrustedError struct {
	Public string // the key, as in [Key]
}

func (e UntrustedError) Error() string {
	return fmt.Sprintf("%v: you do not trust the key %s", ErrInvalid, e.Public)
}

// Unwrap returns [ErrInvalid].
func (UntrustedError) Unwrap() error { return ErrInvalid }

// Keys are the keys of a user. It is safe for concurrent use, also by several processes.
type Keys struct{ folder }

// UserKeys returns the keys of the user who runs this program. It reads and writes nothing.
func UserKeys() Keys {
	dir, err := catalog.StateDir()
	if err != nil {
		return Keys{folder{err: err}}
	}
	return Keys{folder{dir: filepath.Join(dir, "keys"), holds: "your keys"}}
}

// Dir returns the absolute path of the directory of the keys, which need not exist, "" if it is unknown.
func (k Keys) Dir() string { return k.dir }

// PublicKey returns the user's public key. The first call makes the key pair.
func (k Keys) PublicKey() (Key, error) {
	private, err := k.loadOrCreate()
	if err != nil {
		return Key{}, err
	}
	return Key{Public: toPublic(private)}, nil
}

// Sign signs a text with the user's private key. It returns the public key and the signature as texts. The first call
// makes the key pair.
func (k Keys) Sign(text []byte) (public, signature string, err error) {
	private, err := k.loadOrCreate()
	if err != nil {
		return "", "", err
	}
	return toPublic(private), encoding.EncodeToString(ed25519.Sign(private, text)), nil
}

// Verify checks the signature of a text, and returns the key that made it. The error wraps [ErrInvalid] if the
// signature does not count. Any other error means that the user's keys cannot be read.
func (k Keys) Verify(text []byte, public, signature string) (Key, error) {
	decoded, err := encoding.DecodeString(signature)
	key, invalid := parsePublic(public)
	if err != nil || invalid != nil || !ed25519.Verify(key, text, decoded) {
		return Key{}, fmt.Errorf("%w: the signature does not match the content", ErrInvalid)
	}
	private, err := k.load()
	switch {
	case err == nil && toPublic(private) == public:
		return Key{Public: public}, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return Key{}, err
	}
	trusted, err := k.Trusted()
	if err != nil {
		return Key{}, err
	}
	if i := slices.IndexFunc(trusted, func(t Key) bool { return t.Public == public }); i >= 0 {
		return trusted[i], nil
	}
	return Key{}, UntrustedError{public}
}

// Trusted returns the public keys of others that the user trusts, in the order in which they were added.
func (k Keys) Trusted() ([]Key, error) {
	text, err := k.read(trustedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	keys, err := parseTrusted(text)
	if damaged, ok := errors.AsType[lineError](err); ok {
		path := filepath.Join(k.dir, trustedFile)
		return nil, failure.New(failure.ConfigInvalid, "%s: %w", path, err).WithHint("remove the line: `sed -i.old %dd %s`", damaged.line, path)
	}
	return keys, err
}

// Trust adds a key to the trusted keys. A key that is trusted already gets the new name.
func (k Keys) Trust(key Key) error {
	keys, err := k.Trusted()
	if err != nil {
		return err
	}
	keys = slices.DeleteFunc(keys, func(t Key) bool { return t.Public == key.Public })
	if slices.ContainsFunc(keys, func(t Key) bool { return t.Name == key.Name }) {
		return failure.New(failure.ConfigInvalid, "another trusted key has the name %s", key.Name).
			WithHint("give another name, or remove that key with `%s`", failure.Next("keys", "remove", key.Name))
	}
	return k.write(trustedFile, renderTrusted(append(keys, key)), os.Rename)
}

// Remove removes the trusted key with a name, or with a text, and returns it.
func (k Keys) Remove(nameOrPublic string) (Key, error) {
	keys, err := k.Trusted()
	if err != nil {
		return Key{}, err
	}
	i := slices.IndexFunc(keys, func(t Key) bool { return t.Name == nameOrPublic || t.Public == nameOrPublic })
	if i < 0 {
		return Key{}, failure.New(failure.ConfigInvalid, "you trust no key %.80q", nameOrPublic).
			WithHint("`%s` shows the names", failure.Next("keys", "list"))
	}
	removed := keys[i]
	return removed, k.write(trustedFile, renderTrusted(slices.Delete(keys, i, i+1)), os.Rename)
}

// loadOrCreate returns the user's private key, and makes it if there is none. Of processes that make a key at the same
// time, all return the same key.
func (k Keys) loadOrCreate() (ed25519.PrivateKey, error) {
	private, err := k.load()
	if !errors.Is(err, fs.ErrNotExist) {
		return private, err
	}
	_, private, _ = ed25519.GenerateKey(nil) // never fails with crypto/rand
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("encode a private key: %w", err)
	}
	err = k.write(privateFile, pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}), os.Link) // fails if the file exists
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return k.load()
}

// load reads the user's private key. The error wraps [fs.ErrNotExist] if there is none.
func (k Keys) load() (ed25519.PrivateKey, error) {
	text, err := k.read(privateFile)
	if err != nil {
		return nil, err
	}
	if block, _ := pem.Decode(text); block != nil && block.Type == pemType {
		if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if private, ok := key.(ed25519.PrivateKey); ok {
				return private, nil
			}
		}
	}
	path := filepath.Join(k.dir, privateFile)
	return nil, failure.New(failure.ConfigInvalid, "%s is damaged: want an Ed25519 key in PKCS #8", path).
		WithHint("set it aside with `mv %s %s.damaged`; the next message makes a new key", path, path)
}

func toPublic(private ed25519.PrivateKey) string {
	return publicText(private.Public().(ed25519.PublicKey)) //nolint:forcetypeassert // the documented type
}
