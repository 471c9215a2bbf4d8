package eval

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/sotto-dp/sotto/internal/convert"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/sys/bounded"
	"github.com/sotto-dp/sotto/sys/spell"
)

// Item is a question of a test with the answer that is right.
type Item struct {
	Input  string `json:"input"`
	Output string `json:"output"`
	// References are all answers that are right, where there are several; Output is one
	// of them.
	References []string `json:"references,omitempty"`
}

// GroupByInput merges items with the same question into the first of them. Output stays the
// first item's answer; References has the answers of all.
func GroupByInput(items []Item) []Item {
	at := map[string]int{}
	var out []Item
	for _, item := range items {
		i, there := at[item.Input]
		if !there {
			at[item.Input] = len(out)
			out = append(out, Item{Input: item.Input, Output: item.Output, References: []string{item.Output}})
			continue
		}
		if !slices.Contains(out[i].References, item.Output) {
			out[i].References = append(out[i].References, item.Output)
		}
	}
	return out
}

// ItemError reports why a test file cannot be used.
type ItemError struct {
	Path string
	// Record counted from 1, or 0 if it is about the whole file.
	Record int
	// Reason states what is wrong and what to do.
	Reason string
	Err    error
}

func (e *ItemError) Error() string {
	where := e.Path
	if e.Record > 0 {
		where = fmt.Sprintf("%s, record %d", e.Path, e.Record)
	}
	return fmt.Sprintf("test file %s: %s", where, e.Reason)
}

// Unwrap returns the cause, if there is another one.
func (e *ItemError) Unwrap() error { return e.Err }

// ReadItems reads the test of a task: a file of records with the task's columns, in the formats
// that private records are read in, or a folder of Hugging Face datasets.
// Labels are spelled as the task does; one that is not on its list is an error. Test data
// is not private: errors quote labels.
func ReadItems(path string, t prompt.Task) ([]Item, error) {
	t = t.WithDefaults()
	input, output := t.Text, t.Label
	if t.Kind == prompt.Generate {
		input, output = t.Label, t.Text
	}
	var items []Item
	number := 0
	err := readRecords(path, []string{input, output}, func(values []string) error {
		number++
		item := Item{Input: values[0], Output: values[1]}
		if !utf8.ValidString(item.Input) || !utf8.ValidString(item.Output) {
			return errors.New("it is not in UTF-8: save the file in that encoding")
		}
		if t.Kind != prompt.Generate {
			canon, known := t.ResolveLabel(strings.TrimSpace(item.Output))
			if !known {
				return fmt.Errorf("its %s is none that the task lists: correct it, or add it to labels or aliases of the task", output)
			}
			item.Output = canon
		}
		if strings.TrimSpace(item.Output) == "" {
			return fmt.Errorf("its %s is empty: an item needs the answer that is right", output)
		}
		items = append(items, item)
		return nil
	})
	var known *ItemError
	switch {
	case errors.As(err, &known):
		return nil, err
	case err != nil:
		return nil, &ItemError{Path: path, Record: max(1, number), Reason: err.Error(), Err: err}
	case len(items) == 0:
		return nil, &ItemError{Path: path, Reason: "it has no records: name a file with some"}
	}
	return items, nil
}

// ReadTexts reads texts of a task with closed labels that are to be labelled, from a file that [ReadItems]
// reads. Labels may be missing: an item without one that the task lists has no Output.
func ReadTexts(path string, t prompt.Task) ([]Item, error) {
	t = t.WithDefaults()
	items, err := readTexts(path, t, t.Text, t.Label)
	if err != nil {
		if without, failed := readTexts(path, t, t.Text); failed == nil {
			items, err = without, nil
		}
	}
	if err == nil && len(items) == 0 {
		err = &ItemError{Path: path, Reason: "it has no records: name a file with some"}
	}
	return items, err
}

func readTexts(path string, t prompt.Task, columns ...string) (items []Item, err error) {
	err = readRecords(path, columns, func(values []string) error {
		item := Item{Input: values[0]}
		if len(values) > 1 {
			item.Output = KnownLabel(t, values[1])
		}
		if !utf8.ValidString(item.Input) {
			return errors.New("it is not in UTF-8: save the file in that encoding")
		}
		items = append(items, item)
		return nil
	})
	if known := (*ItemError)(nil); err != nil && !errors.As(err, &known) {
		err = &ItemError{Path: path, Record: max(1, len(items)+1), Reason: err.Error(), Err: err}
	}
	return items, err
}

// KnownLabel is a label as the task spells it; "" if it is none that the task lists.
func KnownLabel(t prompt.Task, label string) string {
	canon, known := t.ResolveLabel(strings.TrimSpace(label))
	if !known {
		return ""
	}
	return canon
}

// ReadConditions reads what texts are to be written for from a public file of records, in
// any format that [ReadItems] reads: the inputs of a generation task, or labels of an open
// list. Each comes once, in the order of the file.
func ReadConditions(path string, t prompt.Task) ([]string, error) {
	t = t.WithDefaults()
	if !t.Open() {
		return nil, &ItemError{Path: path, Reason: "the task has a closed list of labels, which texts are written for: leave the file out"}
	}
	var out []string
	seen := map[string]bool{}
	err := readRecords(path, []string{t.Label}, func(values []string) error {
		value := strings.TrimSpace(values[0])
		if !utf8.ValidString(value) {
			return errors.New("it is not in UTF-8: save the file in that encoding")
		}
		if value != "" && !seen[value] {
			seen[value] = true
			out = append(out, value)
		}
		return nil
	})
	if err == nil && len(out) == 0 {
		err = &ItemError{Path: path, Reason: fmt.Sprintf("no record has the column %s filled in: name a file with some", t.Label)}
	}
	return out, err
}

// subsetSeed is the fixed seed of all permutations of test items.
const subsetSeed = 20240607

// Subset returns n items, or all if n is 0 or larger than their number: the first of a
// permutation that depends on the number of items alone. So all rows of a data set are
// about the same items in the same order, and a smaller test is the beginning of a larger
// one.
func Subset[Item any](items []Item, n int) ([]Item, error) {
	key := noise.KeyFromSeed(subsetSeed)
	order, err := key.Stream("test items").Permutation(len(items))
	if err != nil {
		return nil, err
	}
	if n > 0 && n < len(order) {
		order = order[:n]
	}
	out := make([]Item, len(order))
	for i, j := range order {
		out[i] = items[j]
	}
	return out, nil
}

// readRecords hands the values of columns of each record to a function. Errors of the
// function are about the record that it was handed.
func readRecords(path string, columns []string, each func([]string) error) error {
	path, part := convert.Split(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return folderRecords(path, part, columns, each)
	}
	return fileRecords(path, part, false, columns, each)
}

func fileRecords(path, part string, shard bool, columns []string, each func([]string) error) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return &ItemError{Path: path, Reason: fmt.Sprintf("it cannot be read (%v): give the path of a file of records", err), Err: err}
	case !info.Mode().IsRegular():
		return &ItemError{Path: path, Reason: "it is not a file: give the path of a file of records"}
	}
	f, err := os.Open(path)
	if err != nil {
		return &ItemError{Path: path, Reason: fmt.Sprintf("it cannot be opened (%v)", err), Err: err}
	}
	defer f.Close()
	base, in, err := unpack(path, f)
	if err != nil {
		return &ItemError{Path: path, Reason: fmt.Sprintf("it cannot be unpacked (%v): is the end of its name right?", err), Err: err}
	}
	switch ext := convert.Ext(base); {
	case ext == ".parquet":
		return parquetRecords(path, f, info.Size(), shard, columns, each)
	case ext == ".csv", ext == ".tsv":
		return csvRecords(path, in, commaOf(ext, part), columns, each)
	case ext == ".jsonl", ext == ".ndjson":
		return jsonRecords(path, in, columns, each)
	case convert.KindOf(ext) != "":
		return convertedRecords(path, f, in, info.Size(), part, columns, each)
	}
	return &ItemError{Path: path, Reason: "its name does not show its format: it should end in .csv, .tsv, .jsonl or .json, perhaps with .gz or .zst, or in .parquet, .xlsx or .arrow"}
}

func unpack(path string, f *os.File) (base string, in io.Reader, err error) {
	if base, ok := strings.CutSuffix(path, ".gz"); ok {
		in, err = gzip.NewReader(bufio.NewReader(f))
		return base, in, err
	}
	if base, ok := strings.CutSuffix(path, ".zst"); ok {
		in, err = zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
		return base, in, err
	}
	return path, f, nil
}

// longestLine is the size of the longest record: a few bytes of a compressed file may
// stand for more than there is memory.
const longestLine = 1 << 24

var errTooLong = fmt.Errorf("it is longer than %d bytes", longestLine)

// allowance reads on as long as there is some left.
type allowance struct {
	r    io.Reader
	left int
}

func (a *allowance) Read(p []byte) (int, error) {
	if a.left <= 0 {
		return 0, errTooLong
	}
	n, err := a.r.Read(p)
	a.left -= n
	return n, err
}

func jsonRecords(path string, in io.Reader, columns []string, each func([]string) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 1<<16), longestLine)
	number := 0
	for lines.Scan() {
		number++
		line := lines.Bytes()
		if number == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if json.Valid(line) {
				line, _ = convert.Record(line)
			}
			if problem := jsonRecord(line, columns, each); problem != nil {
				return &ItemError{Path: path, Record: number, Reason: problem.Error(), Err: problem}
			}
		}
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = errTooLong
		}
		return &ItemError{Path: path, Record: number + 1, Reason: fmt.Sprintf("it cannot be read (%v)", err), Err: err}
	}
	return nil
}

// sample returns an example line with these columns.
func sample(columns []string) string {
	var parts []string
	for _, c := range columns {
		parts = append(parts, strconv.Quote(c)+": \"…\"")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func jsonRecord(line []byte, columns []string, each func([]string) error) error {
	var record map[string]json.RawMessage
	if err := bounded.UnmarshalJSON(line, longestLine, &record); err != nil {
		return fmt.Errorf("it is not a JSON object: each line is one, such as %s", sample(columns))
	}
	values := make([]string, len(columns))
	for i, column := range columns {
		raw, ok := record[column]
		if !ok {
			return missing(column, slices.Collect(maps.Keys(record)))
		}
		if err := json.Unmarshal(raw, &values[i]); err == nil && string(raw) != "null" {
			continue
		}
		if raw[0] == '{' || raw[0] == '[' || string(raw) == "null" {
			return fmt.Errorf("its %s is not a string: give one", column)
		}
		values[i] = string(raw) // a number, true or false
	}
	return each(values)
}

// missing returns the error of a missing column. A file without a header has texts instead
// of names, and JSON keys may be texts too, so the error shows no names.
func missing(column string, have []string) error {
	if other := spell.Variant(column, have); other != "" {
		return fmt.Errorf("it has no column %q, which the task names, but %q: correct the task or the file", column, other)
	}
	return fmt.Errorf("it has no column %q, which the task names, among %d: correct the task or the file", column, len(have))
}

func csvRecords(path string, in io.Reader, comma rune, columns []string, each func([]string) error) error {
	in, comma, err := textOf(in, comma, columns)
	if err != nil {
		return &ItemError{Path: path, Reason: err.Error(), Err: err}
	}
	limited := &allowance{r: in, left: longestLine}
	reader := csv.NewReader(limited)
	reader.Comma, reader.LazyQuotes = comma, comma == '\t'
	reader.ReuseRecord = true
	wrong := func(number int, err error) error {
		return &ItemError{Path: path, Record: number, Reason: err.Error(), Err: err}
	}
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return wrong(0, fmt.Errorf("its header cannot be read: %w", err))
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff")
	places := make([]int, len(columns))
	for i, column := range columns {
		if places[i] = slices.Index(header, column); places[i] < 0 {
			return wrong(0, missing(column, slices.Clone(header)))
		}
	}
	values := make([]string, len(columns))
	for number := 1; ; number++ {
		limited.left = longestLine
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return wrong(number, fmt.Errorf("it is not CSV: %w", err))
		}
		for i, at := range places {
			values[i] = strings.Clone(record[at])
		}
		if err := each(values); err != nil {
			return wrong(number, err)
		}
	}
}
