// Package reference describes Go types: as JSON Schema, and as lists of keys.
//
// A description that is made from the code cannot disagree with it. [Schema] turns
// types into JSON Schema, [Fields] lists the keys of a file that people write, both with the comments
// of the fields. "make docs" has tests [Write] their pages; [Keep] compares a committed file, or writes it with
// -rewrite. Only tests import this package.
package reference
