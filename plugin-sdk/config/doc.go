// Package config decodes a component's configuration strictly, so that a typing error is found
// before work begins.
//
// Use [Decode] in Validate and again where the configuration is used. It reports all unknown keys
// at once, each with its place and the nearest known key. Checking values is up to the component
// and its JSON Schema.
package config
