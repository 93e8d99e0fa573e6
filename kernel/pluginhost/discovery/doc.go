// Package discovery finds plugin binaries and starts none.
//
// [Search] lists the places in their order ([Places] builds it from flags, environment and the
// well-known directories); [Search.Find] looks through them, and after them takes the plugins that the
// running program serves itself ([Bundled]). The first of a name wins. Every
// file and every directory that is passed over is listed with the reason, because "why does it not
// see my plugin" is the question that users ask.
package discovery
