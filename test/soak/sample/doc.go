// Package sample defines the figures of a soak test and judges whether they grow. Start with [Judge]. The package
// itself measures nothing.
package sample
