// Package gate makes the calls of one component in one process in the order that the contract
// promises: Init once and first, Validate before a configuration is used for the first time, and one
// call at a time where the component is serial. It does so alike for components at the other end of a
// socket and for those inside this process.
package gate
