// Command sotto-duckdb profiles and perturbs private tables in DuckDB files.
//
// It does what "sotto table profile" and "sotto table perturb" do, by the same functions
// and with the same exit codes: the charge is in the ledger before a row is used, and what
// comes out has a certificate that "sotto verify" checks. DuckDB is a C++ library, so it
// is built with CGO_ENABLED=1 and a C compiler.
package main
