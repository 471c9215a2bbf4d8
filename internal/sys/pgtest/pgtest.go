package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Variable names a server to use instead of starting one; its role must be
// allowed to create databases.
const Variable = "SOTTO_TEST_POSTGRES_URL"

// server is the address of the server of this process.
var server = sync.OnceValues(func() (string, error) {
	if address := os.Getenv(Variable); address != "" {
		return address, nil
	}
	return start()
})

// Database returns the URL of a fresh, empty database.
func Database(t testing.TB) string {
	t.Helper()
	u, name := fresh(t, "CREATE DATABASE %s", "DROP DATABASE %s WITH (FORCE)")
	u.Path = "/" + name
	return u.String()
}

// Schema returns the URL of a fresh, empty schema, by its search_path. It is
// much faster to make than a database.
func Schema(t testing.TB) string {
	t.Helper()
	u, name := fresh(t, "CREATE SCHEMA %s", "DROP SCHEMA %s CASCADE")
	q := u.Query()
	q.Set("search_path", name)
	u.RawQuery = q.Encode()
	return u.String()
}

// fresh makes something with a new name, until the test ends, and returns the server's
// address and the name.
func fresh(t testing.TB, create, drop string) (*url.URL, string) {
	t.Helper()
	address, err := server()
	if err != nil {
		t.Fatal(err)
	}
	name := "test_" + strings.ToLower(rand.Text())
	if err := execute(address, fmt.Sprintf(create, name)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := execute(address, fmt.Sprintf(drop, name)); err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(address)
	if err != nil {
		t.Fatalf("%s is not a URL: %v", Variable, err)
	}
	return u, name
}

func execute(address, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, address)
	if err != nil {
		return fmt.Errorf("connecting to the test server: %w", err)
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// ready waits until the server answers.
func ready(address string) error {
	var err error
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		var c *pgx.Conn
		if c, err = pgx.Connect(ctx, address); err == nil {
			err = c.Close(ctx)
			cancel()
			return err
		}
		cancel()
	}
	return fmt.Errorf("the PostgreSQL server did not start: %w", err)
}
