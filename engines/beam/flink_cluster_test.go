package beam

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// A small cluster: three task managers of two slots, of which jobs use four, so that those
// of a task manager that dies can go to others.
const (
	flinkManagers    = 3
	flinkSlots       = 2
	flinkParallelism = 4
)

// flinkCluster is a Flink of separate processes on this machine, with Beam's job server.
type flinkCluster struct {
	dir, jars      string
	rest, endpoint string
	pool           string // of workers
	managers       []*exec.Cmd
	logs           []string
}

// flinkConf: a cluster's own start scripts compute the memory of a task manager; here it
// is written down. A process that died is known by calls that fail, at once, so that long
// waits only keep a busy machine from being taken for a dead one.
const flinkConf = `jobmanager.rpc.address: localhost
jobmanager.rpc.port: %d
rest.address: localhost
rest.bind-address: localhost
rest.port: %d
taskmanager.host: localhost
taskmanager.numberOfTaskSlots: %d
taskmanager.cpu.cores: 1
taskmanager.memory.framework.heap.size: 64m
taskmanager.memory.framework.off-heap.size: 64m
taskmanager.memory.task.heap.size: 200m
taskmanager.memory.task.off-heap.size: 64m
taskmanager.memory.network.min: 64m
taskmanager.memory.network.max: 64m
taskmanager.memory.managed.size: 128m
taskmanager.memory.jvm-metaspace.size: 160m
taskmanager.memory.jvm-overhead.min: 64m
taskmanager.memory.jvm-overhead.max: 64m
cluster.evenly-spread-out-slots: true
parallelism.default: %d
restart-strategy.type: fixed-delay
restart-strategy.fixed-delay.attempts: 5
restart-strategy.fixed-delay.delay: 2 s
heartbeat.interval: 2000
heartbeat.rpc-failure-threshold: 2
heartbeat.timeout: 600000
pekko.ask.timeout: 300 s
client.timeout: 600 s
rest.idleness-timeout: 1800000
rest.connection-timeout: 120000
web.timeout: 300000
slot.request.timeout: 600000
classloader.resolve-order: parent-first
io.tmp.dirs: %s
`

// opens are the packages of Java that Flink 1.19 looks into, as its own scripts say.
var opens = []string{"java.lang", "java.net", "java.io", "java.nio", "java.lang.reflect", "java.text", "java.time", "java.util", "java.util.concurrent", "java.util.concurrent.atomic", "java.util.concurrent.locks", "sun.nio.ch"}

func startFlink(t *testing.T, jars string) *flinkCluster {
	t.Helper()
	c := &flinkCluster{dir: t.TempDir(), jars: jars, pool: startPool(t)}
	ports := freePorts(t, 3)
	conf := fmt.Sprintf(flinkConf, ports[0], ports[1], flinkSlots, flinkParallelism, c.dir)
	if err := os.WriteFile(filepath.Join(c.dir, "flink-conf.yaml"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	c.rest, c.endpoint = fmt.Sprintf("http://localhost:%d", ports[1]), fmt.Sprintf("localhost:%d", ports[2])
	began := time.Now()
	c.java(t, "job-manager", 400, "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint", "--configDir", c.dir)
	for i := range flinkManagers {
		c.managers = append(c.managers, c.java(t, fmt.Sprintf("task-manager-%d", i), 300, "org.apache.flink.runtime.taskexecutor.TaskManagerRunner", "--configDir", c.dir))
	}
	c.java(t, "job-server", 400, "org.apache.beam.runners.flink.FlinkJobServerDriver",
		"--flink-master", strings.TrimPrefix(c.rest, "http://"), "--flink-conf-dir", c.dir, "--artifacts-dir", filepath.Join(c.dir, "artifacts"),
		"--job-host", "localhost", "--job-port", fmt.Sprint(ports[2]), "--artifact-port", "0", "--expansion-port", "0")
	c.await(t, "the task managers", func() bool {
		var o struct {
			Slots int `json:"slots-total"`
		}
		return c.get("/overview", &o) == nil && o.Slots == flinkManagers*flinkSlots
	})
	c.await(t, "the job server", func() bool {
		conn, err := net.DialTimeout("tcp", c.endpoint, time.Second)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	t.Logf("Flink with %d task managers of %d slots, in %.1f s", flinkManagers, flinkSlots, time.Since(began).Seconds())
	return c
}

// freePorts asks the system. Another program could take one before it is used; the
// test would then fail to start.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "localhost:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// java starts a process of the cluster, which ends with the test.
func (c *flinkCluster) java(t *testing.T, name string, megabytes int, class string, args ...string) *exec.Cmd {
	t.Helper()
	all := []string{"-n", "10", "java", fmt.Sprintf("-Xmx%dm", megabytes), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}
	for _, p := range opens {
		all = append(all, "--add-opens=java.base/"+p+"=ALL-UNNAMED")
	}
	all = append(all, "-cp", filepath.Join(c.jars, "*"), class)
	cmd := exec.Command("nice", append(all, args...)...)
	path := filepath.Join(c.dir, name+".log")
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: install nice and a Java runtime (Debian: default-jre-headless): %v", name, err)
	}
	c.logs = append(c.logs, path)
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	return cmd
}

func (c *flinkCluster) await(t *testing.T, what string, ready func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !ready(); time.Sleep(time.Second) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come\n%s", what, c.problems())
		}
	}
}

// get asks the job manager.
func (c *flinkCluster) get(path string, into any) error {
	client := http.Client{Timeout: 20 * time.Second}
	response, err := client.Get(c.rest + path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(into)
}

// problems are the lines of all logs that speak of one.
func (c *flinkCluster) problems() string {
	var out bytes.Buffer
	for _, path := range c.logs {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		n := 0
		for line := range strings.Lines(string(data)) {
			if (strings.Contains(line, "ERROR") || strings.Contains(line, "Exception") || strings.Contains(line, "Caused by")) && n < 12 {
				fmt.Fprintf(&out, "%s: %.300s\n", filepath.Base(path), strings.TrimSpace(line))
				n++
			}
		}
	}
	return out.String()
}

type flinkJob struct {
	ID    string `json:"jid"`
	State string `json:"state"`
	Start int64  `json:"start-time"`
	Tasks struct {
		Running int `json:"running"`
	} `json:"tasks"`
}

// last is the job that began last.
func (c *flinkCluster) last() (last flinkJob, err error) {
	var all struct {
		Jobs []flinkJob `json:"jobs"`
	}
	err = c.get("/jobs/overview", &all)
	for _, j := range all.Jobs {
		if j.Start > last.Start {
			last = j
		}
	}
	return last, err
}

// assassin kills a task manager, and starts another, while a job runs.
type assassin struct {
	c *flinkCluster
	// now is asked, while tasks of the job run, whether it is time; since says for how long
	// they do.
	now func(since time.Duration) bool
	job flinkJob
	err error
}

// killing returns a runner of which a task manager dies in the middle of a job.
func (c *flinkCluster) killing(now func(since time.Duration) bool) *assassin {
	return &assassin{c: c, now: now}
}

func (a *assassin) run(ctx context.Context, p *sdk.Pipeline) error {
	before, err := a.c.last()
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() { a.err = a.kill(before.ID, ended) })
	err = a.c.onFlink(ctx, p)
	close(ended)
	group.Wait()
	return err
}

// kill waits for a new job.
func (a *assassin) kill(before string, ended <-chan struct{}) error {
	began := time.Time{}
	for {
		select {
		case <-ended:
			return fmt.Errorf("the job ended before a task manager was killed")
		case <-time.After(200 * time.Millisecond):
		}
		job, err := a.c.last()
		if err != nil || job.ID == before || job.Tasks.Running == 0 {
			continue
		}
		if began.IsZero() {
			began, a.job = time.Now(), job
		}
		if !a.now(time.Since(began)) {
			continue
		}
		victim := a.c.managers[0]
		a.c.managers = a.c.managers[1:]
		return victim.Process.Kill()
	}
}

// check that the job met the kill, and continued.
func (a *assassin) check(t *testing.T) {
	t.Helper()
	if a.err != nil {
		t.Fatal(a.err)
	}
	var told struct {
		History struct {
			Entries []struct {
				Name string `json:"exceptionName"`
				Text string `json:"stacktrace"`
			} `json:"entries"`
		} `json:"exceptionHistory"`
	}
	if err := a.c.get("/jobs/"+a.job.ID+"/exceptions", &told); err != nil {
		t.Fatal(err)
	}
	if len(told.History.Entries) == 0 {
		t.Errorf("job %s had no failure: the task manager that was killed had none of its work", a.job.ID)
	}
	for _, e := range told.History.Entries {
		first, _, _ := strings.Cut(e.Text, "\n")
		t.Logf("the job continued after: %.200s", first)
	}
	// The next job is to meet a cluster of the same size.
	i := len(a.c.logs)
	a.c.managers = append(a.c.managers, a.c.java(t, fmt.Sprintf("task-manager-%d", i), 300, "org.apache.flink.runtime.taskexecutor.TaskManagerRunner", "--configDir", a.c.dir))
	a.c.await(t, "another task manager", func() bool {
		var o struct {
			Managers int `json:"taskmanagers"`
		}
		return a.c.get("/overview", &o) == nil && o.Managers == flinkManagers
	})
}
