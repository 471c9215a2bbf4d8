package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// growth is how much larger a program may be than the size that is committed.
const growth = 1.10

// compareSizes prints the size of each program beside the one that is committed, and fails where
// one grew by more than a tenth. With record it writes the file anew, for the platforms that were
// built.
func compareSizes(path string, programs []program, record bool) error {
	old, err := readSizes(path)
	if err != nil && !(record && errors.Is(err, os.ErrNotExist)) {
		return err
	}
	var grown []error
	fmt.Println("size of the program, beside", path)
	for _, p := range programs {
		name, now := p.String(), len(p.data)
		before, ok := old[name]
		switch {
		case !ok:
			fmt.Printf("  %-14s %10d  is not recorded yet: make release RELEASEFLAGS=-record\n", name, now)
		default:
			fmt.Printf("  %-14s %10d  was %10d  %+.1f %%\n", name, now, before, 100*(float64(now)/float64(before)-1))
			if float64(now) > growth*float64(before) {
				grown = append(grown, fmt.Errorf("the program for %s grew by more than a tenth, from %d to %d bytes", name, before, now))
			}
		}
		old[name] = now
	}
	if record {
		return os.WriteFile(path, formatSizes(old), 0o644)
	}
	if len(grown) > 0 {
		grown = append(grown, fmt.Errorf("find out why; if it is worth it, record the sizes: make release RELEASEFLAGS=-record"))
	}
	return errors.Join(grown...)
}

// readSizes reads lines of a platform and a number of bytes.
func readSizes(path string) (map[string]int, error) {
	sizes := map[string]int{}
	data, err := os.ReadFile(path)
	if err != nil {
		return sizes, err
	}
	for line := range strings.Lines(string(data)) {
		var name string
		var n int
		if _, err := fmt.Sscan(line, &name, &n); err != nil {
			return nil, fmt.Errorf("%s: %q is no platform and number of bytes", path, strings.TrimSpace(line))
		}
		sizes[name] = n
	}
	return sizes, nil
}

func formatSizes(sizes map[string]int) []byte {
	var lines []string
	for name, n := range sizes {
		lines = append(lines, fmt.Sprintf("%s %d\n", name, n))
	}
	slices.Sort(lines)
	return []byte(strings.Join(lines, ""))
}
