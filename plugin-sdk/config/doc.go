// Package config reads a component's configuration strictly, so that a typing error in a pipeline is
// found before any work begins instead of being ignored.
//
// Use [Decode] in Validate and again where the configuration is used. It refuses keys that the target
// struct does not have, names each of them with its place and the nearest key that exists, and reports
// all of them at once. It does not check values; that is the component's own business, and so is the
// JSON Schema that the component declares.
package config
