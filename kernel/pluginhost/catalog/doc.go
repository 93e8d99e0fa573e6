// Package catalog finds plugins and knows the components of plugins and of this process.
//
// [Search] looks through the directories of [SearchDirs] in order, then adds the plugins served by
// the running program ([Bundled]). The first of a name wins. Each ignored file and directory is
// listed with the reason. Nothing is started.
//
// A [Catalog] describes each verified plugin once by starting it, and caches the description on disk
// by path, size, modification time and digest. Of two components with one name the first wins and the
// other is reported: registered ones first, then plugins in the order of the search. Names precede
// aliases.
//
// [Verifier] opens a plugin's file and compares its SHA-256 with plugins.lock: a different entry refuses the file, a
// missing entry does not. The open file is executed, so that the verified content runs. [Store] reads and writes the
// user's plugins.lock and trusted.json (trusted directories).
package catalog
