// Package ui is what all programs of sotto share on the terminal: results as tables or as
// JSON, numbers that round to the safe side, progress, warnings, errors and exit codes.
//
// A verb makes one [Result] and hands it to [Terminal.Emit], which prints it as one JSON
// object or lays it out for people, so that both say the same. What goes wrong goes to
// [Terminal.Fail], which reports it to people and programs and returns the exit code.
package ui
