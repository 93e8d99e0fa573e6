// Package catalog knows which components exist: those that plugins describe and those that are
// registered inside this process.
//
// A plugin is described once, by starting it after its binary was verified, and then remembered on
// disk by path, size, modification time and digest; a damaged memory is no memory. Of two components
// with one name the first wins and the other is reported: registered ones come first, then plugins in
// the order of discovery. Names win over aliases.
package catalog
