// Command accountant measures Sotto's accountant beside PyPI's dp-accounting and
// prv-accountant, on the same events in one run. Each case runs in a process of
// its own on either side, so that peak memory belongs to it.
//
//	go run ./bench/accountant -python .venv/bin/python -out dist/bench-accountant.md
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/sotto-dp/sotto/lab/bench/harness"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

type benchCase struct {
	Name      string                     `json:"name"`
	Task      string                     `json:"task"`
	Event     string                     `json:"event"`
	Adjacency privacy.Adjacency          `json:"adjacency"`
	Delta     float64                    `json:"delta"`
	Epsilon   float64                    `json:"epsilon"`
	Peers     map[string]json.RawMessage `json:"peers"`
}

// measurement is one line of either side.
type measurement struct {
	Case     string          `json:"case"`
	Peer     string          `json:"peer"`
	Setting  string          `json:"setting"`
	Settings json.RawMessage `json:"settings"`
	Lower    *float64        `json:"epsilon_lower"`
	Upper    *float64        `json:"epsilon_upper"`
	X        *float64        `json:"x"`
	Seconds  *float64        `json:"seconds"`
	PeakMB   float64         `json:"peak_rss_mb"`
	Error    string          `json:"error"`
}

func main() {
	events := flag.String("events", "lab/bench/accountant/events.json", "the cases")
	python := flag.String("python", "python3", "a Python that has the peers")
	out := harness.Out()
	only := flag.String("case", "", "run only this case")
	peers := flag.String("peers", "dp-accounting,prv-accountant", "the peers to compare with; prv-accountant takes most of the time")
	self := flag.String("self", "", "measure Sotto on one case and print a line of JSON (used by the command itself)")
	harness.Main(func(context.Context) error {
		return run(*events, *python, *out, *only, *self, strings.Split(*peers, ","))
	})
}

func run(events, python, out, only, self string, peers []string) error {
	raw, err := os.ReadFile(events)
	if err != nil {
		return err
	}
	var file struct {
		Cases []benchCase `json:"cases"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return fmt.Errorf("%s: %w", events, err)
	}
	var table io.Writer = os.Stdout
	if out != "" && self == "" && only == "" { // a single case is no report
		f, err := os.Create(out)
		if err != nil {
			return err
		}
		defer f.Close()
		table = io.MultiWriter(os.Stdout, f)
	}
	if self == "" {
		header(table, peers)
	}
	for _, c := range file.Cases {
		if self != "" {
			if c.Name == self {
				return json.NewEncoder(os.Stdout).Encode(measure(c))
			}
			continue
		}
		if only != "" && only != c.Name {
			continue
		}
		ours, err := child(events, c.Name)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		rows := []measurement{}
		for _, peer := range peers {
			for _, setting := range settings(c.Peers[peer]) {
				got, err := ask(python, events, peer, c.Name, setting)
				if err != nil {
					return fmt.Errorf("%s, %s %s: %w", c.Name, peer, setting, err)
				}
				got.Setting = setting
				rows = append(rows, got)
			}
		}
		report(table, c, ours, rows)
	}
	return nil
}

// measure evaluates one case in this process, best of several.
func measure(c benchCase) measurement {
	m := measurement{Case: c.Name, Peer: "sotto"}
	best := math.Inf(1)
	start := time.Now()
	for i := 0; i < 20 && (i < 3 || time.Since(start) < 5*time.Second); i++ {
		c.Delta = math.Nextafter(c.Delta, 0) // or the answer would be remembered
		begin := time.Now()
		interval, x, err := evaluate(c)
		best = math.Min(best, time.Since(begin).Seconds())
		if err != nil {
			m.Error = err.Error()
			return m
		}
		m.Lower, m.Upper = &interval.Lower, &interval.Upper
		if c.Task == "calibrate" {
			m.X = &x
		}
	}
	m.Seconds = &best
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err == nil {
		m.PeakMB = float64(usage.Maxrss) / 1024
	}
	return m
}

func evaluate(c benchCase) (privacy.Interval, float64, error) {
	if c.Task == "calibrate" {
		t, err := privacy.ParseTemplate(c.Event)
		if err != nil {
			return privacy.Interval{}, 0, err
		}
		got, err := accountant.Calibrate(t, accountant.Target{Epsilon: c.Epsilon, Delta: c.Delta, Adjacency: c.Adjacency})
		return got.Epsilon, got.X, err
	}
	e, err := privacy.Parse(c.Event)
	if err != nil {
		return privacy.Interval{}, 0, err
	}
	got, err := accountant.Auto{}.Epsilon(e, c.Adjacency, c.Delta)
	return got, 0, err
}

// child runs measure in a fresh process.
func child(events, name string) (measurement, error) {
	var m measurement
	self, err := os.Executable()
	if err == nil {
		err = harness.Ask(&m, self, "-events", events, "-self", name)
	}
	return m, err
}

// settings lists the settings that a case has for a peer; one that cannot do the
// case is asked all the same, and says why.
func settings(raw json.RawMessage) []string {
	var have map[string]json.RawMessage
	if json.Unmarshal(raw, &have) != nil {
		return []string{"tight"}
	}
	var list []string
	for _, s := range []string{"tight", "coarse", "default"} {
		if _, ok := have[s]; ok {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return []string{"tight"}
	}
	return list
}

// ask runs a peer on one case with one of its settings.
func ask(python, events, peer, name, setting string) (measurement, error) {
	var m measurement
	err := harness.Ask(&m, python, filepath.Join(filepath.Dir(events), "peers.py"), "--events", events, "--peer", peer, "--case", name, "--setting", setting)
	return m, err
}

func header(w io.Writer, peers []string) {
	fmt.Fprintf(w, "# Accountants side by side\n\nMade by `make bench-accountant` on %s/%s, %d cores, %s. Sotto's row is the\nwhole answer, both ends of the interval; a peer's time is for its upper end alone.\n`tight` are the fastest settings found by hand for that peer and case whose upper\nend is within about 1e-3 of the exact ε; `default` are those it comes with. Sotto\nruns with its defaults throughout. Time is the best of several, ratio = peer/Sotto.\nSotto's defaults were settled while looking at these same events, so they are not\nfresh ones for it either.\nPeers in this run: %s.\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), strings.Join(peers, ", "))
}

func report(w io.Writer, c benchCase, ours measurement, rows []measurement) {
	what := fmt.Sprintf("δ = %.3g", c.Delta)
	if c.Task == "calibrate" {
		what += fmt.Sprintf(", target ε = %g", c.Epsilon)
	}
	fmt.Fprintf(w, "## %s\n\n`%s`, %s\n\n| | ε lower | ε upper | x | time | ratio | peak memory |\n|---|---|---|---|---|---|---|\n", c.Name, c.Event, what)
	line(w, "**sotto**", ours, ours)
	for _, r := range rows {
		line(w, r.Peer+" "+r.Setting, r, ours)
	}
	fmt.Fprintln(w)
}

func line(w io.Writer, name string, m, ours measurement) {
	number := func(v *float64) string {
		if v == nil {
			return "–"
		}
		return fmt.Sprintf("%.6g", *v)
	}
	took, ratio := "–", "–"
	if m.Seconds != nil {
		took = time.Duration(*m.Seconds * 1e9).Round(10 * time.Microsecond).String()
		if ours.Seconds != nil {
			ratio = fmt.Sprintf("%.1f", *m.Seconds / *ours.Seconds)
		}
	}
	if m.Error != "" {
		ratio = strings.ReplaceAll(m.Error, "|", "/")
	}
	fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %.0f MB |\n", name, number(m.Lower), number(m.Upper), number(m.X), took, ratio, m.PeakMB)
}
