// Package harness is what benchmarks share: how they start and end, how they ask programs
// of others, and what they report of the machine, without which figures mean nothing.
package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Main parses the flags, runs a benchmark until it ends or is interrupted, and exits.
func Main(run func(context.Context) error) {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// Out declares the flag for the file that [Write] writes.
func Out() *string { return flag.String("out", "", "write the report to this file too") }

// Write prints a report, and writes it to a file unless path is empty.
func Write(path, text string) error {
	fmt.Print(text)
	if path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// Lines writes n values as lines of JSON.
func Lines(path string, n int, of func(i int) any) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	out := json.NewEncoder(w)
	for i := 0; i < n && err == nil; i++ {
		err = out.Encode(of(i))
	}
	return errors.Join(err, w.Flush(), f.Close())
}

// Ask runs a program that prints JSON, and decodes it.
func Ask(into any, program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, into)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", filepath.Base(program), strings.Join(args, " "), err)
	}
	return nil
}

// Median returns the middle of a list, or the mean of the two that are.
func Median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	n := len(sorted)
	return (sorted[n/2] + sorted[(n-1)/2]) / 2
}

// Ratio returns how many times faster we are than others: the median over turns and the range, and
// whether that misses a goal. A goal of 0 is none.
func Ratio(list []float64, goal float64) string {
	middle := Median(list)
	text := fmt.Sprintf("**%.2f×** (%.2f–%.2f)", middle, slices.Min(list), slices.Max(list))
	if goal > 0 {
		text += fmt.Sprintf(", goal %g×", goal)
		if middle < goal {
			text += ": missed"
		}
	}
	return text
}

// PeakMB reads the kernel's count of a program's peak memory. (That of getrusage would begin
// with the peak of the process that started it.)
func PeakMB(process int) (float64, error) {
	rest := strings.TrimSuffix(first(fmt.Sprintf("/proc/%d/status", process), "VmHWM"), "kB")
	kb, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
	if err != nil {
		return 0, errors.New("peak memory is read on Linux only")
	}
	return kb / 1024, nil
}

// Met says whether a goal is met.
func Met(ok bool) string {
	if ok {
		return "met"
	}
	return "missed"
}

// busy is the load average from which on a run is not trusted.
const busy = 0.7

// Machine is what a benchmark runs on: its processor, system and number of processors, and
// the load average of the last minute before the run.
type Machine struct{ Name, Load string }

// Here describes this machine. Call it before the run: afterwards the load is the run's own.
func Here() Machine {
	load, _, _ := strings.Cut(first("/proc/loadavg", ""), " ")
	name := fmt.Sprintf("%s, %s/%s, %d processors", first("/proc/cpuinfo", "model name"), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	return Machine{name, load}
}

// Idle returns a sentence about how idle the machine was, with a warning if it was not or if
// that is not known.
func (m Machine) Idle() string {
	text := fmt.Sprintf("Load average before the run: %s.", m.Load)
	if average, err := strconv.ParseFloat(m.Load, 64); err != nil || average > busy {
		text += " **The machine was not idle, or this is not known: do not quote these figures.**"
	}
	return text
}

// first returns the first line of a file, or the value of the first line that begins with a
// key.
func first(path, key string) string {
	raw, _ := os.ReadFile(path)
	for line := range strings.Lines(string(raw)) {
		if key == "" {
			return strings.TrimSpace(line)
		}
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
