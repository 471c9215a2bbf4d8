package suite

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"sotto/internal/spell"
)

// maxFile is the size of the largest suite file that is read.
const maxFile = 1 << 20

//go:embed suites
var builtin embed.FS

// Builtins lists the names of the built-in suites.
func Builtins() []string {
	// The folder is part of the program: reading it does not fail.
	files, _ := fs.Glob(builtin, "suites/*.toml")
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(path.Base(f), ".toml"))
	}
	slices.Sort(names)
	return names
}

// Builtin returns a built-in suite.
func Builtin(name string) (Suite, error) {
	data, err := Source(name)
	if err != nil {
		return Suite{}, err
	}
	return Parse(name, data)
}

// Find returns the suite that a user names: a built-in one, or the path of a file.
func Find(ref string) (Suite, error) {
	if isPath(ref) {
		return Load(ref)
	}
	return Builtin(ref)
}

// Source is the text of a suite's file: of a built-in one, to start one's own from, or of
// a path, which ends in .toml or has a slash in it.
func Source(ref string) ([]byte, error) {
	if isPath(ref) {
		return read(ref)
	}
	if slices.Contains(Builtins(), ref) {
		return builtin.ReadFile("suites/" + ref + ".toml")
	}
	return nil, &UnknownError{Name: ref, Near: spell.Near(ref, Builtins())}
}

func isPath(ref string) bool {
	return strings.HasSuffix(ref, ".toml") || strings.ContainsRune(ref, '/') || strings.ContainsRune(ref, filepath.Separator)
}

// Load reads a suite file. Paths in it are relative to its folder. The suite is called as
// the file is, unless that says name.
func Load(file string) (Suite, error) {
	data, err := read(file)
	if err != nil {
		return Suite{}, err
	}
	s, err := Parse(strings.TrimSuffix(filepath.Base(file), ".toml"), data)
	var invalid *InvalidError
	if errors.As(err, &invalid) {
		invalid.Name = file
	}
	s.dir = filepath.Dir(file)
	return s, err
}

func read(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: file, Err: errors.New("it is not a file; name the suite's TOML file")}
	} else if err == nil && info.Size() > maxFile {
		err = &fs.PathError{Op: "read", Path: file, Err: fmt.Errorf("it is larger than %d bytes, so it is no suite; data is named in it, not contained", maxFile)}
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, fmt.Errorf("suite file: %w", err)
	}
	return data, nil
}

// Parse reads a suite from TOML. name is what it is called unless it says so itself. What
// is wrong with it is an *[InvalidError] that lists everything at once.
func Parse(name string, data []byte) (Suite, error) {
	var s Suite
	text := strings.TrimPrefix(string(data), "\ufeff")
	found := problems{lines: lines(text)}
	meta, err := toml.Decode(text, &s)
	if err != nil {
		found.undecodable(err)
		return Suite{}, &InvalidError{Name: name, Problems: found.list}
	}
	for _, key := range meta.Undecoded() {
		found.unknown(key)
	}
	s = s.WithDefaults()
	if s.Name == "" {
		s.Name = name
	}
	s.check(&found)
	s.checkReference(&found)
	if len(found.list) > 0 {
		return Suite{}, &InvalidError{Name: name, Problems: found.list}
	}
	return s, nil
}

// badType is what the decoder says of a value of the wrong type.
var badType = regexp.MustCompile(`line (\d+) \(last key "([^"]*)"\): incompatible types: TOML value has type (\S+); destination has type (\S+)$`)

// typeNames are the decoder's names of types, for people.
var typeNames = map[string]string{
	"string": "a string in quotes", "int": "a whole number", "int64": "a whole number", "uint64": "a whole number", "integer": "a whole number",
	"float64": "a number", "float": "a fraction", "bool": "true or false", "slice": "a list in brackets", "array": "a list in brackets",
	"map": "a table", "struct": "a table", "table": "a table",
}

func typeName(name string) string {
	if known := typeNames[name]; known != "" {
		return known
	}
	return name
}

// undecodable tells why a file is no TOML, or has a value of another type.
func (p *problems) undecodable(err error) {
	const fix = "correct the line; strings go in \"quotes\", lists in [brackets]"
	var syntax toml.ParseError
	if errors.As(err, &syntax) && syntax.Message != "" {
		p.list = append(p.list, Problem{Line: syntax.Position.Line, Where: "file", What: syntax.Message, Fix: fix})
		return
	}
	if m := badType.FindStringSubmatch(err.Error()); m != nil {
		found := Problem{Where: m[2], What: "it is " + typeName(m[3]), Fix: "give " + typeName(m[4])}
		_, _ = fmt.Sscan(m[1], &found.Line)
		p.list = append(p.list, found)
		return
	}
	p.list = append(p.list, Problem{Where: "file", What: strings.TrimPrefix(err.Error(), "toml: "), Fix: fix})
}

// unknown tells of a key that means nothing, at each place where it is.
func (p *problems) unknown(key toml.Key) {
	table := key[:len(key)-1]
	known := keysOf(table)
	if known == nil {
		return // the table itself is unknown, and was reported
	}
	last := key[len(key)-1]
	fix := "known are " + strings.Join(known, ", ")
	if close := spell.Near(last, known); len(close) > 0 {
		fix = "did you mean " + strings.Join(close, " or ") + "?"
	} else if len(table) > 0 && slices.Contains(keysOf(nil), last) {
		fix = fmt.Sprintf("it belongs above the first [[%s]]", table[0])
	}
	places := p.lines.like(key)
	if len(places) == 0 {
		places = []string{key.String()}
	}
	for _, where := range places {
		p.wrong(where, "there is no such key", "%s", fix)
	}
}
