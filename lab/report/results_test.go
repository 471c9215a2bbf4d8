package report

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"hash/maphash"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/parquet-go/parquet-go"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/metric/rouge"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lab/result"
	"github.com/sotto-dp/sotto/lab/suite"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
)

const (
	resultsDir = "../results"
	sharedData = "../../../shared/data" // beside the repository, if it is there
)

// folders of results.
func folders(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(resultsDir, "*", "rows.parquet"))
	if err != nil || len(all) == 0 {
		t.Fatalf("no results: %v", err)
	}
	for i := range all {
		all[i] = filepath.Dir(all[i])
	}
	return all
}

var (
	hexadecimal = regexp.MustCompile(`^[0-9a-f]{64}$`)
	suiteWord   = regexp.MustCompile(`^[a-z0-9-]{1,20}$`)
	modelWord   = regexp.MustCompile(`^[A-Za-z0-9._-]{1,40}( [A-Z0-9_]{1,8})?$`)
	settingWord = regexp.MustCompile(`^-?[a-z0-9_.+]{1,16}$`)
	metricWord  = regexp.MustCompile(`^[a-z0-9_]{1,24}( \(all-MiniLM-L6-v2@[0-9a-f]{12}, tokens in context\))?$`)
)

// TestResultsAreNumbers: a row that we publish has numbers, and words of the suite, of a
// fixed form or of an event: there is no place in it for a text.
func TestResultsAreNumbers(t *testing.T) {
	for _, dir := range folders(t) {
		source, err := os.ReadFile(filepath.Join(dir, "suite.toml"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := suite.Parse(filepath.Base(dir), source)
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		rows, err := result.ReadRows(filepath.Join(dir, "rows.parquet"))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if why := wordy(s.WithDefaults(), r); why != "" {
				t.Errorf("%s: a row of %s has another %s than numbers and words of its suite", dir, r.Dataset, why)
			}
		}
		checkColumns(t, filepath.Join(dir, "rows.parquet"))
	}
}

// wordy names a field of a row that could hold a text.
func wordy(s suite.Suite, r result.Row) string {
	matches := func(p *regexp.Regexp, words ...string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !p.MatchString(w) })
	}
	dataset := slices.IndexFunc(s.Datasets, func(d suite.Dataset) bool { return d.Name == r.Dataset })
	method := slices.ContainsFunc(s.Methods, func(m suite.Method) bool { return m.Method == r.Method && m.Name == r.Name })
	if _, err := privacy.Parse(r.Event); err != nil && r.Event != "" {
		return "event"
	}
	switch {
	case dataset < 0 || !slices.Contains([]string{r.Dataset, s.Datasets[dataset].Task, s.Datasets[dataset].Schema, s.Datasets[dataset].LocalSchema}, r.Task):
		return "data set or task"
	case !method:
		return "method"
	case !matches(suiteWord, r.Suite) || !matches(hexadecimal, r.Key):
		return "suite or key"
	case r.Answerer == "" != suite.Learned(r.Method) || r.Answerer != "" && !matches(modelWord, r.Answerer) || r.Model != "" && !matches(modelWord, r.Model):
		return "model"
	case r.Version != "bench/gpu" && r.Version != "development":
		return "version"
	case !matches(metricWord, r.Metric):
		return "metric"
	}
	for k := range r.Metrics {
		if !matches(metricWord, k) {
			return "metrics"
		}
	}
	for k, v := range r.Settings {
		if !matches(settingWord, k, v) {
			return "settings"
		}
	}
	return ""
}

// checkColumns: reading rows ignores columns that they do not have.
func checkColumns(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	p, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, field := range parquet.SchemaOf(result.Row{}).Fields() {
		known = append(known, field.Name())
	}
	for _, field := range p.Schema().Fields() {
		if !slices.Contains(known, field.Name()) {
			t.Errorf("%s has a column %q", path, field.Name())
		}
	}
}

// TestWordy: what the test above is for is found.
func TestWordy(t *testing.T) {
	s := suite.Suite{Datasets: []suite.Dataset{{Name: "d"}}, Methods: []suite.Method{{Method: "real", Name: "real"}}}
	good := result.Row{
		Key: strings.Repeat("0a", 32), Suite: "text", Dataset: "d", Task: "d", Method: "real", Name: "real", Answerer: "m Q4_1", Version: "bench/gpu",
		Metric: "rouge_l", Event: "poisson(1/10, boundedrange(1))", Settings: map[string]string{"batch": "4"}, Metrics: map[string]float64{"answer_words": 3},
	}
	if why := wordy(s, good); why != "" {
		t.Fatal(why)
	}
	for name, spoil := range map[string]func(*result.Row){
		"name":     func(r *result.Row) { r.Name = "Ann: six? Ben: fine." },
		"event":    func(r *result.Row) { r.Event = "Ann: six? Ben: fine." },
		"settings": func(r *result.Row) { r.Settings = map[string]string{"of": "Ann: six? Ben: fine."} },
		"metrics":  func(r *result.Row) { r.Metrics = map[string]float64{"Ann: six? Ben: fine.": 1} },
		"answerer": func(r *result.Row) { r.Answerer = "Ann: six? Ben: fine." },
		"nobody":   func(r *result.Row) { r.Answerer = "" },
		"version":  func(r *result.Row) { r.Version = "Ann: six? Ben: fine." },
		"task":     func(r *result.Row) { r.Task = "Ann: six? Ben: fine." },
		"key":      func(r *result.Row) { r.Key = "Ann: six? Ben: fine." },
	} {
		r := good
		if spoil(&r); wordy(s, r) == "" {
			t.Errorf("a text in %s is not found", name)
		}
	}
}

// run is the number of consecutive words that make a text.
const run = 6

// shingles are the hashes of all runs of words of a text: sums of those of the words, each
// multiplied once more for every word that follows.
func shingles(seed maphash.Seed, text string, each func(hash uint64)) {
	const factor = 0x9e3779b97f4a7c15
	var hashes []uint64
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		hashes = append(hashes, maphash.String(seed, word))
	}
	for i := 0; i+run <= len(hashes); i++ {
		sum := uint64(0)
		for _, h := range hashes[i : i+run] {
			sum = sum*factor + h
		}
		each(sum)
	}
}

// TestResultsHoldNoText: six words that follow one another in a record of SAMSum, whose
// texts we may not hand on, or in a test record of the others, are nowhere in what we
// publish.
func TestResultsHoldNoText(t *testing.T) {
	if _, err := os.Stat(filepath.Join(sharedData, "samsum")); err != nil {
		t.Skip("the data sets are not beside the repository")
	}
	seed := maphash.MakeSeed()
	ours := map[uint64]string{}
	err := filepath.WalkDir(resultsDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".parquet") {
			return err
		}
		data, err := os.ReadFile(path)
		shingles(seed, string(data), func(h uint64) { ours[h] = path })
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, parts := range map[string][]string{"samsum": {"train", "test"}, "wikilarge": {"test"}, "e2e": {"test"}} {
		n := 0
		for _, part := range parts {
			eachText(t, filepath.Join(sharedData, name, part+".jsonl.gz"), func(text string) {
				shingles(seed, text, func(h uint64) {
					n++
					if path, there := ours[h]; there {
						t.Errorf("%s has six words of a record of %s", path, name)
					}
				})
			})
		}
		if n < 1000 {
			t.Errorf("%s has %d runs of words: nothing was looked for", name, n)
		}
	}
}

// eachText calls with the texts of a file of records.
func eachText(t *testing.T, path string, each func(string)) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var record map[string]string
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
			t.Fatalf("%s: a line is no record", path) // its text stays out of logs
		}
		for _, text := range record {
			each(text)
		}
	}
	if err := errors.Join(lines.Err(), z.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestCopying: lab/results says what an answer scores that repeats the question, or its
// first 16 words.
func TestCopying(t *testing.T) {
	if _, err := os.Stat(filepath.Join(sharedData, "samsum")); err != nil {
		t.Skip("the data sets are not beside the repository")
	}
	stemmed := rouge.Options{Stem: true}
	for name, want := range map[string][2]float64{"samsum": {21.4, 24.2}, "e2e": {35.2, 35.2}, "wikilarge": {81.9, 68.5}} {
		task, err := prompt.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		items, err := eval.ReadItems(filepath.Join(sharedData, name, "test.jsonl.gz"), task)
		if err != nil {
			t.Fatal(err)
		}
		if name == "e2e" { // as the suite has it
			items = suite.GroupByInput(items)
		}
		if items, err = eval.Subset(items, 100); err != nil {
			t.Fatal(err)
		}
		for i, limit := range []int{math.MaxInt, 16} {
			sum := 0.0
			for _, item := range items {
				words := strings.Fields(item.Input)
				sum += stemmed.L(item.Output, strings.Join(words[:min(limit, len(words))], " ")).F1
			}
			if math.Abs(sum-want[i]) > 0.051 {
				t.Errorf("%s: %.2f, and the page says %v", name, sum, want[i])
			}
		}
	}
}

// TestEarlierRows: rows of before there were answers online are read as what they were.
func TestEarlierRows(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(resultsDir, "text*", "rows.parquet"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, path := range files {
		rows, err := result.ReadRows(path)
		if err != nil || len(rows) == 0 {
			t.Fatalf("%s: %d rows, %v", path, len(rows), err)
		}
		for _, r := range rows {
			at := expect.At(t, "%s: %+v", path, r)
			expect.True(at, "not r.Online", !r.Online)
			expect.True(at, "not r.Claimed", !r.Claimed)
			expect.Equal(at, "r.Queries", r.Queries, 0)
			expect.True(at, "r.Key that is not empty", r.Key != "")
			expect.Len(at, "r.Items", r.Items, r.N)
			expect.True(at, "r.Answerer that is not empty", r.Answerer != "")
		}
	}
}
