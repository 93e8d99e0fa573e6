// Package install installs plugins into the user's plugin directory and removes them.
//
// [Plugin] unpacks a plugin into a private directory, describes it, locks its digest and renames it into
// place; a failure before that changes nothing. [RemovePlugin] deletes the file and its lock. Neither uses
// the network.
package install
