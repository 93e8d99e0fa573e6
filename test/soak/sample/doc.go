// Package sample has the figures of a soak and judges whether they grow. Start with [Judge]. It measures nothing itself.
package sample
