//go:build !unix

package pgtest

import "errors"

func start() (string, error) {
	return "", errors.New("no PostgreSQL server can be started on this system: set " + Variable + " to the URL of a server for tests")
}
