package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// child is a program that runs beside this one.
type child struct {
	*exec.Cmd
	ended chan error
}

// start runs a program in a process group of its own until it is stopped.
func start(cmd *exec.Cmd) (*child, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd, make(chan error, 1)}
	go func() { c.ended <- cmd.Wait() }()
	return c, nil
}

func (c *child) stop() {
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM) // it may have ended
	select {
	case <-c.ended:
	case <-time.After(20 * time.Second):
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		<-c.ended
	}
}

// upstreamAt starts the upstream of this program as a process of its own.
func upstreamAt(delay time.Duration) (*child, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	cmd := exec.Command(self, "-upstream", "127.0.0.1:0", "-delay", delay.String())
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	c, err := start(cmd)
	if err != nil {
		return nil, "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		c.stop()
		return nil, "", errors.Join(errors.New("the upstream did not start"), err)
	}
	return c, strings.TrimSpace(line), nil
}

// sotto is the program with a place of its own for all that it keeps.
type sotto struct {
	binary, dir string
	key         string
	upstreams   map[string]string // addresses by name
}

func (s *sotto) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.binary, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "SOTTO_CONFIG="+filepath.Join(s.dir, "own.toml"), "XDG_DATA_HOME="+s.dir)
	return cmd
}

func (s *sotto) do(ctx context.Context, args ...string) ([]byte, error) {
	cmd := s.command(ctx, args...)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("sotto %s: %s", strings.Join(args, " "), exit.Stderr)
	}
	return out, err
}

// prepare makes a release, routes with it and without it to every upstream, and a key.
func (s *sotto) prepare(ctx context.Context) error {
	var own, rows strings.Builder
	fmt.Fprintf(&own, "service = %q\nledger = %q\nkeys = %q\nprivate = %q\n", filepath.Join(s.dir, "service.db"), filepath.Join(s.dir, "ledger.db"), filepath.Join(s.dir, "keys"), filepath.Join(s.dir, "private"))
	for name, address := range s.upstreams {
		fmt.Fprintf(&own, "[upstream.%s]\nurl = \"http://%s\"\n", name, address)
	}
	rows.WriteString("amount,waited,team\n")
	for i := range 400 {
		fmt.Fprintf(&rows, "%d,%d,%s\n", i%97, i%31, []string{"billing", "login"}[i%2])
	}
	for name, text := range map[string]string{"own.toml": own.String(), "rows.csv": rows.String(), "schema.toml": schema, "texts.csv": texts(), "teams.toml": teams} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	steps := [][]string{
		{"ledger", "init"},
		{"table", "profile", "--schema", "schema.toml", "--data", "rows.csv", "--size", "400", "--epsilon", "4", "--group", "team", "--out", "demos"},
		{"learn", "--task", "teams.toml", "--data", "texts.csv", "--size", "400", "--epsilon", "1", "--out", "labels"},
		{"serve", "route", "set", "labels", "--release", "labels", "--task", "teams.toml"},
	}
	for name := range s.upstreams {
		steps = append(steps,
			[]string{"serve", "route", "set", name + "-plain", "--upstream", name, "--model", "big"},
			[]string{"serve", "route", "set", name + "-demos", "--upstream", name, "--model", "big", "--release", "demos", "--task", "table:schema.toml"})
	}
	for _, args := range steps {
		if _, err := s.do(ctx, args...); err != nil {
			return err
		}
	}
	out, err := s.do(ctx, "serve", "key", "add", "bench", "--route", "*", "--json")
	if err != nil {
		return err
	}
	var made struct{ Secret string }
	if err := json.Unmarshal(out, &made); err != nil {
		return err
	}
	s.key = made.Secret
	return nil
}

// schema is of the release whose examples go along.
const schema = `title = "Messages that do not exist"
label = "team"
template = "The amount is {amount}, and they waited {waited} days."
question = "Which team is this for?"

[[column]]
name = "amount"
kind = "numeric"
low = 0
high = 100

[[column]]
name = "waited"
kind = "numeric"
low = 0
high = 31

[[column]]
name = "team"
kind = "categorical"
values = ["billing", "login"]
`

// serve starts it, and returns the addresses for clients and for metrics.
func (s *sotto) serve(ctx context.Context) (_ *child, clients, admin string, err error) {
	cmd := s.command(context.WithoutCancel(ctx), "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	out, err := cmd.StderrPipe()
	if err != nil {
		return nil, "", "", err
	}
	c, err := start(cmd)
	if err != nil {
		return nil, "", "", err
	}
	lines := bufio.NewScanner(out)
	var said strings.Builder
	for clients == "" || admin == "" {
		if !lines.Scan() {
			c.stop()
			return nil, "", "", fmt.Errorf("sotto serve ended: %s", said.String())
		}
		fmt.Fprintln(&said, lines.Text())
		if m := regexp.MustCompile(`serving http://(\S+)/v1`).FindStringSubmatch(lines.Text()); m != nil {
			clients = m[1]
		}
		if m := regexp.MustCompile(`administration at http://(\S+)`).FindStringSubmatch(lines.Text()); m != nil {
			admin = m[1]
		}
	}
	go func() {
		for lines.Scan() { // else it would wait for somebody who reads
		}
	}()
	return c, clients, admin, nil
}

// litellm starts PyPI's proxy with a process for each processor.
func litellm(ctx context.Context, program, dir string, upstreams map[string]string, workers int) (*child, string, error) {
	var config strings.Builder
	config.WriteString("model_list:\n")
	for name, address := range upstreams {
		fmt.Fprintf(&config, "  - model_name: %s-plain\n    litellm_params:\n      model: openai/big\n      api_base: http://%s/v1\n      api_key: none\n", name, address)
	}
	config.WriteString("general_settings:\n  master_key: sk-bench\nlitellm_settings:\n  set_verbose: false\n  num_retries: 0\n")
	path := filepath.Join(dir, "litellm.yaml")
	if err := os.WriteFile(path, []byte(config.String()), 0o600); err != nil {
		return nil, "", err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		return nil, "", err
	}
	_, port, _ := net.SplitHostPort(address) // it is one
	cmd := exec.Command(program, "--config", path, "--host", "127.0.0.1", "--port", port, "--num_workers", fmt.Sprint(workers), "--telemetry", "False")
	cmd.Env = append(os.Environ(), "LITELLM_LOCAL_MODEL_COST_MAP=True", "LITELLM_LOG=ERROR", "LITELLM_MODE=PRODUCTION")
	log, err := os.Create(filepath.Join(dir, "litellm.log"))
	if err != nil {
		return nil, "", err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	c, err := start(cmd)
	if err != nil {
		return nil, "", err
	}
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(time.Second) {
		r, err := http.Get("http://" + address + "/health/liveliness")
		if err == nil {
			_ = r.Body.Close() // its status is what counts
			if r.StatusCode == http.StatusOK {
				return c, address, nil
			}
		}
		if time.Now().After(end) || ctx.Err() != nil || len(c.ended) > 0 {
			c.stop()
			return nil, "", fmt.Errorf("litellm did not start: see %s", log.Name())
		}
	}
}
