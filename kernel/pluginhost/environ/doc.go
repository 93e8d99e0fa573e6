// Package environ decides which of the user's environment variables a plugin process gets.
//
// The list is always built explicitly: [Build] takes the user's environment and a [Policy] and
// returns the entries, [Names] what may be recorded of them. Providers and the components that run
// the user's own commands start from everything, all others from [Minimal]; a policy of the project
// can only narrow that ([Default], [Policy.Within]).
package environ
