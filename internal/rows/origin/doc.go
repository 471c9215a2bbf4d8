// Package origin opens files and folders of rows: compressed ones, and those that package convert makes rows of. It
// names what can be the matter with a row.
//
// No message holds content. Those of libraries may quote a value, and are held back once rows are read; what is
// passed on is an [Error] with a code and a row's ordinal.
package origin
