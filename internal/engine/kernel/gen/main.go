// Command gen writes the SIMD code of package kernel: for each level an
// assembly file of products, one of row functions, the Go declarations of both,
// and the table of the level.
//
// It is a module of its own so that nobody who only builds Sotto needs the
// assembler.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

// generator is the name that the files bear.
const generator = "internal/engine/kernel/gen"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen directory-of-package-kernel")
		os.Exit(2)
	}
	files, err := generate()
	if err == nil {
		err = write(os.Args[1], files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// part is a set of functions that go into one assembly file.
type part struct {
	name  string
	write func(*target)
}

var parts = []part{
	{"product", func(t *target) { t.tile(); t.halves() }},
	{"integers", func(t *target) { t.integers(asPairs); t.quantizers() }},
	{"short", func(t *target) { t.integers(asFours) }},
	{"bytes", (*target).bytes},
	{"rows", func(t *target) { t.rows(); t.ropes() }},
}

// generate returns the contents of the generated files by name.
func generate() (map[string][]byte, error) {
	files := make(map[string][]byte)
	for _, isa := range []isa{avx2, avxVNNI, avx512} {
		for _, p := range parts {
			if !isa.floats() && (p.name == "product" || p.name == "rows") || !isa.vnni && p.name == "short" {
				continue
			}
			t := newTarget(isa)
			p.write(t)
			name := fmt.Sprintf("%s_%s_amd64", p.name, isa.file)
			if err := t.print(files, name); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		text, err := table(isa)
		if err != nil {
			return nil, fmt.Errorf("table of %s: %w", isa.name, err)
		}
		files[fmt.Sprintf("table_%s_amd64.go", isa.file)] = text
	}
	if err := generateARM(files); err != nil {
		return nil, err
	}
	return files, nil
}

// print adds the assembly and the declarations of the target to the files.
func (t *target) print(files map[string][]byte, name string) error {
	f, err := t.Result()
	var list build.ErrorList
	if errors.As(err, &list) {
		for _, e := range list {
			err = errors.Join(err, e)
		}
	}
	if err != nil {
		return err
	}
	if err := pass.Compile.Execute(f); err != nil {
		return err
	}
	if err := t.allowed(f); err != nil {
		return err
	}
	config := printer.Config{Name: generator, Pkg: "kernel"}
	for suffix, builder := range map[string]printer.Builder{".s": printer.NewGoAsm, ".go": printer.NewStubs} {
		text, err := builder(config).Print(f)
		if err != nil {
			return err
		}
		if t.vnni && !t.wide() {
			text = encodeDots(text)
		}
		files[name+suffix] = append(bytes.TrimSpace(text), '\n')
	}
	return nil
}

func write(dir string, files map[string][]byte) error {
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
