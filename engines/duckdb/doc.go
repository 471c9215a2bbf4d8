// Package duckdb reads private tables from DuckDB files, and lets DuckDB add them up.
//
// A database that can clamp, round and count does so where the rows
// are: what comes out are exact integer sums per group, by the same encoding as a scan, and
// noise is added afterwards, in the main module. Package tabletest of the main module holds
// this source against the same reference as all others.
//
//	data, err := duckdb.Open(ctx, "patients.duckdb", table.Options{
//		Schema: s, Table: "visits", Private: "private",
//	})
//
// [Source] makes of a file what sotto.Client take, with ledger and
// certificate; the program sotto-duckdb does so from a command line.
//
// It is a module of its own since DuckDB comes as a C++ library: it needs cgo and a C
// compiler, and its prebuilt libraries for the common platforms are a large download. The
// main module needs none of that, and reads Parquet and CSV files without it. Without cgo
// the package is empty.
//
// # What stays inside
//
// Files are opened for reading only, in one transaction for each scan or aggregation.
// Access to other files and to the network is turned off, so that a query reads what is in
// the file: rows of other files have a fingerprint of their own, and a budget. Messages of
// DuckDB are held back once rows are read, since they may quote values. DuckDB itself sees
// the rows, and the key of a sample.
//
// The ledger knows a table by its place, the path of the file and the name of the table,
// and not by its content: see Fingerprint in package table.
package duckdb
