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
	address, err := server()
	if err != nil {
		t.Fatal(err)
	}
	name := "sotto_test_" + strings.ToLower(rand.Text())
	execute(t, address, "CREATE DATABASE "+name)
	t.Cleanup(func() { execute(t, address, "DROP DATABASE "+name+" WITH (FORCE)") })
	u, err := url.Parse(address)
	if err != nil {
		t.Fatalf("%s is not a URL: %v", Variable, err)
	}
	u.Path = "/" + name
	return u.String()
}

func execute(t testing.TB, address, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatalf("connecting to the test server: %v", err)
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
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
