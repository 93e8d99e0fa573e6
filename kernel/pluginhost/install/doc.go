// Package install puts a plugin's binary into the user's plugin directory and takes it away again.
//
// [Installer.Install] takes a binary or an archive that holds one for this platform. What it unpacks lies in a
// private directory beside its place until the plugin has said what it is; then one rename puts it there, and
// plugins.lock gets its digest. Whatever fails before leaves everything as it was. [Installer.Remove] removes file
// and entry. Nothing here reaches the network.
//
// archive.go reads archives by strict rules, choose.go picks the member for a platform, install.go and
// remove.go do the rest.
package install
