// Package plugins implements the verbs for plugins: list, info, verify, install, lock, remove, new, and plugin serve.
package plugins
