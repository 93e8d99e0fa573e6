// Package catalog finds plugins and knows the components of plugins and of this process.
//
// [Search] looks through the directories of [SearchDirs] in order, then adds the plugins served by
// the running program ([Bundled]). The first plugin of a name wins. Each ignored file and directory is
// listed with the reason. Nothing is started.
//
// A [Catalog] starts each verified plugin once for its description, which it caches on disk by path, size,
// modification time and digest. A bundled plugin may be described without a start. Of two components with one name the
// first is used and the second reported. Registered components come first, then plugins in the order of the search.
// Names precede aliases.
//
// [Verifier] opens a plugin's file and compares its SHA-256 with plugins.lock: a file with another digest is
// refused, a file without an entry is not. The open file is executed, so that the verified content runs. [Store]
// reads and writes the user's plugins.lock and trusted.json (trusted directories).
package catalog
