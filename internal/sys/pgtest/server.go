//go:build unix

package pgtest

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Where distributions keep the server's programs when they are not in PATH.
var directories = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/usr/libexec/postgresql*",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
}

// programs finds initdb and postgres, of the newest version there is.
func programs() (initdb, postgres string, err error) {
	initdb, err1 := exec.LookPath("initdb")
	postgres, err2 := exec.LookPath("postgres")
	if err1 == nil && err2 == nil {
		return initdb, postgres, nil
	}
	var found []string
	for _, pattern := range directories {
		matches, _ := filepath.Glob(pattern) // the patterns are well formed
		slices.SortFunc(matches, func(a, b string) int { return version(b) - version(a) })
		found = append(found, matches...)
	}
	for _, dir := range found {
		initdb, postgres = filepath.Join(dir, "initdb"), filepath.Join(dir, "postgres")
		if executable(initdb) && executable(postgres) {
			return initdb, postgres, nil
		}
	}
	return "", "", errors.New("PostgreSQL is not installed: run scripts/install-postgres.sh, or set " + Variable + " to the URL of a server for tests")
}

// version is the first number in a path.
func version(path string) int {
	digits := strings.FieldsFunc(path, func(r rune) bool { return r < '0' || r > '9' })
	if len(digits) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(digits[0]) // digits only; too long ones sort last
	return n
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// account is the user to run the server as, nil to stay who we are.
func account() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil && uid != 0 {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody to run it as")
}

// watch runs the server until standard input ends, which it does when the test
// process is gone, then stops it at once and removes the directory.
const watch = `
"$1" -D "$2/data" -k "$2" -c listen_addresses= -c max_connections=200 -c shared_buffers=32MB </dev/null &
server=$!
cat >/dev/null
kill -QUIT $server
wait $server
cd /
rm -rf "$2"
`

// start makes a cluster and starts a server.
func start() (string, error) {
	initdb, postgres, err := programs()
	if err != nil {
		return "", err
	}
	credential, err := account()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "sotto-pg-")
	if err != nil {
		return "", err
	}
	if credential != nil {
		if err := os.Chown(dir, int(credential.Uid), int(credential.Gid)); err != nil {
			return "", errors.Join(err, os.RemoveAll(dir))
		}
	}
	as := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "LC_ALL=C", "HOME="+dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential, Setpgid: true}
		return cmd
	}
	out, err := as(initdb, "--no-sync", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-D", filepath.Join(dir, "data")).CombinedOutput()
	if err != nil {
		return "", errors.Join(fmt.Errorf("initdb: %w\n%s", err, out), os.RemoveAll(dir))
	}

	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	defer log.Close()
	watcher := as("sh", "-c", watch, "sh", postgres, dir)
	watcher.Stdout, watcher.Stderr = log, log
	alive, err := watcher.StdinPipe()
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	if err := watcher.Start(); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	keep = append(keep, alive)
	address := url.URL{
		Scheme: "postgres", User: url.User("postgres"), Path: "/postgres",
		RawQuery: url.Values{"host": {dir}, "sslmode": {"disable"}}.Encode(),
	}
	if err := ready(address.String()); err != nil {
		text, _ := os.ReadFile(log.Name()) // only for the message
		return "", errors.Join(fmt.Errorf("%w\n%s", err, text), alive.Close())
	}
	return address.String(), nil
}

// keep holds the pipes whose end tells the watchers that this process is gone.
var keep []io.Closer
