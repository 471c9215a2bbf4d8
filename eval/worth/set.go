package worth

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/prompt"
)

// Set is a set of examples.
type Set struct {
	Name       string
	Examples   []prompt.Example
	NotPrivate bool
	// Chosen is the prompt of a folder whose records chose one, without its examples: how to
	// ask, and how labels are read off.
	Chosen *prompt.Prompt
	// Evidence is that of the folder, if the prompt uses it.
	Evidence *evidence.Evidence
}

// shown is how many examples a question gets.
func (s Set) shown() int {
	if s.Chosen == nil {
		return len(s.Examples)
	}
	return len(prompt.Prompt{Examples: s.Examples, Nearest: s.Chosen.Nearest}.Shown())
}

// readChosen reads what the records of a release's folder chose, if they chose, and whether the file says that it
// is NOT PRIVATE: there may be no example to say so. Examples is how many the prompt has, -1 if it does
// not say.
func readChosen(dir string) (_ *prompt.Prompt, examples int, marked bool, err error) {
	data, err := bounded.ReadFile(filepath.Join(dir, "prompt.json"), bounded.Large)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, false, nil
	}
	if err != nil {
		return nil, 0, false, wrong("the prompt of %s: %w", dir, err)
	}
	p := &prompt.Prompt{}
	if err := bounded.UnmarshalJSON(data, bounded.Large, p); err != nil {
		return nil, 0, false, wrong("the prompt of %s: %w", dir, err)
	}
	if examples = len(p.Examples); p.Examples == nil {
		examples = -1
	}
	p.Examples = nil
	if p.Evidence.How == prompt.Alone {
		p.Instruction = "" // no model reads it
	}
	return p, examples, markedLine(data), nil
}

// readEvidence reads the evidence that a folder's prompt uses, if it does.
func readEvidence(dir string, p *prompt.Prompt) (*evidence.Evidence, error) {
	if p == nil || !p.Evidence.Used() {
		return nil, nil
	}
	e, err := evidence.Read(filepath.Join(dir, evidence.File))
	if errors.Is(err, os.ErrNotExist) {
		return nil, wrong("the prompt of %s uses evidence, and the folder has no %s: use the whole release, as it was written", dir, evidence.File)
	}
	if err != nil {
		return nil, wrong("the evidence of %s: %w", dir, err)
	}
	return e, nil
}

// ReadSet reads examples of a task from a file, or from the folder of a release.
func ReadSet(ref string, t prompt.Task) (Set, error) {
	set := Set{Name: ref}
	path := ref
	if info, err := os.Stat(ref); err == nil && info.IsDir() {
		path = filepath.Join(ref, "demos.jsonl")
		there, missing := os.Stat(path)
		var examples int
		if set.Chosen, examples, set.NotPrivate, err = readChosen(ref); err != nil {
			return set, err
		}
		// A prompt without examples has no file of them, and a classifier needs none.
		none := set.Chosen != nil && (examples == 0 || set.Chosen.Evidence.How == prompt.Alone)
		if errors.Is(missing, os.ErrNotExist) && !none {
			return set, wrong("%s has no demos.jsonl: name a folder that \"sotto synth\" has finished, or a file", ref)
		}
		if set.Evidence, err = readEvidence(ref, set.Chosen); err != nil {
			return set, err
		}
		if set.Chosen != nil && (there == nil && none || there != nil && there.Size() == 0) { // there are no examples
			return set, nil
		}
	} else if errors.Is(err, os.ErrNotExist) {
		return set, wrong("there is no folder or file %s of demonstrations; \"zero\" and \"real\" are the two that need none", ref)
	}
	items, err := eval.ReadItems(path, t)
	var bad *eval.ItemError
	if errors.As(err, &bad) {
		where := path
		if bad.Record > 0 {
			where = fmt.Sprintf("%s, record %d", path, bad.Record)
		}
		return set, wrong("demonstrations %s: %s", where, bad.Reason)
	}
	if err != nil {
		return set, err
	}
	marked, err := Marked(path)
	if err != nil {
		return set, err
	}
	set.NotPrivate = set.NotPrivate || marked
	for _, item := range items {
		set.Examples = append(set.Examples, prompt.Example{Input: item.Input, Output: item.Output})
	}
	return set, nil
}

// Marked reports whether a file of demonstrations or predictions says that it is NOT PRIVATE: a line
// of JSON by a member, as those of package release do, and a table by a column.
func Marked(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, wrong("demonstrations: %w", err)
	}
	defer f.Close()
	var in io.Reader = f
	switch filepath.Ext(path) {
	case ".gz":
		in, err = gzip.NewReader(f)
	case ".zst":
		in, err = zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
	}
	var data []byte
	if err == nil {
		data, err = bounded.Read(in, bounded.Huge)
	}
	if err != nil {
		return false, wrong("demonstrations %s: %w", path, err)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if kind := filepath.Ext(strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst")); kind == ".csv" || kind == ".tsv" {
		header, _, _ := bytes.Cut(data, []byte("\n"))
		return slices.ContainsFunc(bytes.FieldsFunc(header, func(r rune) bool { return strings.ContainsRune(",;\t\r", r) }), func(name []byte) bool {
			return string(bytes.Trim(name, "\" ")) == "not_private"
		}), nil
	}
	for line := range bytes.Lines(data) {
		if markedLine(line) {
			return true, nil
		}
	}
	return false, nil
}

// markedLine reports whether a JSON object says that it is NOT PRIVATE.
func markedLine(line []byte) bool {
	var mark struct {
		NotPrivate any `json:"not_private"`
	}
	// Other programs may have made 1 or "True" of it.
	return bounded.UnmarshalJSON(line, bounded.Huge, &mark) == nil && mark.NotPrivate != nil && mark.NotPrivate != false
}
