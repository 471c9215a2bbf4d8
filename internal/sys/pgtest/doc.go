// Package pgtest gives tests a real PostgreSQL server of their own.
//
// The first call of [Database] in a process makes a cluster in a temporary
// directory and starts a server on a Unix socket in it; every call makes a fresh
// database there. A small shell watches over the server: when the test process
// ends, in whatever way, the server is stopped and the directory removed.
//
// PostgreSQL refuses to run as root; a test that does runs it as an
// unprivileged user. If SOTTO_TEST_POSTGRES_URL is set, that server is used and
// none is started.
package pgtest
