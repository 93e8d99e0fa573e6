// Package describe makes the description of a plugin from what its author wrote down, and checks
// descriptions that come from elsewhere. The rules are the same for both ends: package serve refuses
// to serve what package client would refuse to load.
package describe
