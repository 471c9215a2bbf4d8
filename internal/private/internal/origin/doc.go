// Package origin opens what private rows come from: files, SQLite files and PostgreSQL
// servers, read-only and in one state, and the private folder with its key.
//
// Nothing that is said on the way holds content. Messages of
// databases and of libraries may quote a value, and are held back once rows are read;
// what is passed on is an [Error] with a code and a row's ordinal.
package origin
