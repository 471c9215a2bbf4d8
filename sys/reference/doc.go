// Package reference writes docs/reference from Go types, for tests that compare it with what is
// committed.
//
// A description that is made from the code cannot disagree with it. [Schema] turns
// types into JSON Schema, [Fields] lists the keys of a file that people write, both with the comments
// of the fields; [Keep] compares a file, or writes it with -rewrite. Only tests import this package.
package reference
