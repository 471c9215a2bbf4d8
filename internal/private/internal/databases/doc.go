// Package databases reads SQLite files and PostgreSQL servers: read-only, and in one state. Their messages may quote
// values, and are held back once rows are read.
package databases
