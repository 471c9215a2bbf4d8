package audit

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// Program is a command of the shell that is audited by what it prints.
type Program struct {
	// Command has {data} where the data goes, and may have {seed}, a new number for each time that it is
	// started, and {runs}: how many runs to do, and print a line of each. Bounds hold if runs are
	// independent of each other, also those of one start.
	Command string
	// Seed makes the numbers of {seed}; without one they are new each time.
	Seed *uint64
	// Workers is how many are started at once.
	Workers int
	// Observe, if set, is called with how many runs are done, by several goroutines.
	Observe func(done, all int)
}

// maxEach is how many runs one start of a program is asked for.
const maxEach = 1000

// Play runs the program n times with each of two files and returns what it printed, on its standard
// output.
func (p Program) Play(ctx context.Context, with, without string, n int) (in, out []string, err error) {
	if !strings.Contains(p.Command, "{data}") {
		return nil, nil, errors.New("the command should have {data} where the file goes, such as './count.sh {data}'")
	}
	for _, quote := range []string{`"{data}`, `'{data}`, `{data}"`, `{data}'`} {
		if strings.Contains(p.Command, quote) {
			return nil, nil, errors.New("leave the quotes around {data} out: the file's name is quoted when it is filled in")
		}
	}
	each := 1
	if strings.Contains(p.Command, "{runs}") {
		each = min(maxEach, max(1, n/8))
	}
	key, err := noise.NewKey()
	if p.Seed != nil {
		key, err = noise.KeyFromSeed(*p.Seed), nil
	}
	if err != nil {
		return nil, nil, err
	}
	type start struct{ file, first, runs int }
	var starts []start
	for at := 0; at < n; at += each {
		for file := range 2 {
			starts = append(starts, start{file, at, min(each, n-at)})
		}
	}
	files, printed := [2]string{with, without}, [2][]string{make([]string, n), make([]string, n)}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	var mu sync.Mutex
	done := 0
	next := make(chan start)
	for range max(1, p.Workers) {
		group.Go(func() {
			defer fault.Watch()
			for s := range next {
				// All generators take a seed of 32 bits.
				seed := key.Stream("seed", uint64(s.file), uint64(s.first)).Uint64() >> 32
				lines, err := p.once(ctx, files[s.file], seed, s.runs)
				if err != nil {
					cancel(err)
					continue
				}
				copy(printed[s.file][s.first:], lines)
				mu.Lock()
				done += s.runs
				if p.Observe != nil {
					p.Observe(done, 2*n)
				}
				mu.Unlock()
			}
		})
	}
	for _, s := range starts {
		if ctx.Err() != nil {
			break
		}
		next <- s
	}
	close(next)
	group.Wait()
	return printed[0], printed[1], context.Cause(ctx)
}

// once starts the program once and returns what each of its runs printed.
func (p Program) once(ctx context.Context, file string, seed uint64, runs int) ([]string, error) {
	line := strings.NewReplacer("{data}", quoted(file), "{seed}", strconv.FormatUint(seed, 10), "{runs}", strconv.Itoa(runs)).Replace(p.Command)
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.WaitDelay = 2 * time.Second // for what the shell has started
	text, err := cmd.Output()
	if err != nil {
		// What it says on standard error may have a record in it.
		return nil, fmt.Errorf("the command failed: %w; to see why, run it by hand with {data}, {seed} and {runs} filled in", err)
	}
	if !strings.Contains(p.Command, "{runs}") {
		return []string{string(text)}, nil
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) != runs {
		return nil, fmt.Errorf("the command printed %d lines for {runs} = %d: it should print one for each run", len(lines), runs)
	}
	return lines, nil
}

// quoted is a word of the shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
