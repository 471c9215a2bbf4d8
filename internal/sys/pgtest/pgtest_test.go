package pgtest

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestMain lets the test binary play a process that starts a server and dies.
func TestMain(m *testing.M) {
	if os.Getenv("PGTEST_CHILD") != "" {
		address, err := start()
		if err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Stdout.WriteString(address + "\n")
		panic("dying with a server running")
	}
	os.Exit(m.Run())
}

func TestDatabasesAreFreshAndDurable(t *testing.T) {
	ctx := context.Background()
	a, b := Database(t), Database(t)
	if a == b {
		t.Fatalf("two calls gave the same database %s", a)
	}
	for _, address := range []string{a, b} {
		c, err := pgx.Connect(ctx, address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(ctx)
		if _, err := c.Exec(ctx, "CREATE TABLE t (x int)"); err != nil {
			t.Error(err)
		}
		var fsync string
		if err := c.QueryRow(ctx, "SELECT current_setting('fsync')").Scan(&fsync); err != nil || fsync != "on" {
			t.Errorf("fsync is %q, %v; tests of durability need it on", fsync, err)
		}
	}
}

func TestServerGoesWithItsProcess(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PGTEST_CHILD=1")
	out, err := cmd.Output()
	if err == nil {
		t.Fatal("the child did not panic")
	}
	u, err := url.Parse(string(out[:max(0, len(out)-1)]))
	if err != nil || u.Query().Get("host") == "" {
		t.Fatalf("the child started no server: %v %s", err, cmd.ProcessState)
	}
	dir := u.Query().Get("host")
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(dir); os.IsNotExist(err) {
			return
		}
	}
	t.Errorf("%s is still there", dir)
}
