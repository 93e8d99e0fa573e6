// Package schema checks JSON against a JSON Schema of draft 2020-12, such as the config_schema of a component. Start with [New].
//
// A plugin that decodes its configuration by [Schema.Decode] states the rules for its values once: in the schema that it
// declares. A schema may refer only to its own parts, because nothing is fetched. A pattern with syntax that only ECMA-262
// has, such as lookahead, matches every text.
//
// A plugin that imports this package starts about 3 ms later, because the library reads the drafts of JSON Schema at the
// start. The other packages that a plugin needs do not import it.
package schema
