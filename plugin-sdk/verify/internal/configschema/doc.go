// Package configschema checks the form of a JSON Schema of draft 2020-12.
package configschema
