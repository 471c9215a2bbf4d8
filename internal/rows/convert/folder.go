package convert

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/sys/bounded"
)

// maxShards is how many files a folder has at most.
const maxShards = 10000

// Shards returns the files of one data set in a folder, in order: as the datasets library of
// Hugging Face saves it to disk, or as its Hub lays it out. The part is the split, with the
// configuration before a slash if there are several; it may be left out if there is one. A folder
// that has a file twice is refused: each record would count twice, and have half its protection.
func Shards(dir, part string) ([]string, error) {
	files, err := files(dir, part)
	if err == nil {
		err = distinct(dir, files)
	}
	if err != nil {
		return nil, err
	}
	return files, nil
}

func files(dir, part string) ([]string, error) {
	if splits, ok, err := savedSplits(dir); ok || err != nil {
		if err != nil {
			return nil, err
		}
		split, err := choose(splits, part)
		if err != nil {
			return nil, err
		}
		files, ok, err := savedFiles(filepath.Join(dir, split))
		if !ok && err == nil {
			err = refuse("the split %s has no state.json that lists its files: save the data set again", split)
		}
		return files, err
	}
	if files, ok, err := savedFiles(dir); ok || err != nil {
		if part != "" && part != filepath.Base(dir) {
			return nil, refuse("the folder is one split: leave #%s out", part)
		}
		return files, err
	}
	all, err := cardSplits(dir)
	if err == nil && len(all) == 0 {
		all, err = namedSplits(dir)
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) == 0 {
		return nil, refuse("it is a folder without files of records: name a file, or a folder as Hugging Face datasets has it")
	}
	split, err := choose(names, part)
	if err != nil {
		return nil, err
	}
	files := all[split]
	slices.Sort(files)
	return slices.Compact(files), nil
}

// choose finds the split that is meant.
func choose(splits []string, part string) (string, error) {
	if part == "" && len(splits) == 1 {
		return splits[0], nil
	}
	if part != "" {
		for _, s := range splits {
			if s == part || strings.HasSuffix(s, "/"+part) && !more(splits, part) {
				return s, nil
			}
		}
		return "", refuse("the folder has no split %q: it has %s", part, strings.Join(splits, ", "))
	}
	return "", refuse("the folder has several splits: %s. Name one, as FOLDER#%s", strings.Join(splits, ", "), splits[len(splits)-1])
}

func more(splits []string, part string) bool {
	n := 0
	for _, s := range splits {
		if strings.HasSuffix(s, "/"+part) {
			n++
		}
	}
	return n > 1
}

// inside is the path of a file that a document in a folder names: no other folder is read.
func inside(dir, name string) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", refuse("the folder names a file outside of itself: name files directly")
	}
	return filepath.Join(dir, filepath.FromSlash(name)), nil
}

// document reads a small JSON file of a folder, if it is there.
func document(dir, name string, into any) bool {
	data, err := bounded.ReadFile(filepath.Join(dir, name), bounded.Small)
	return err == nil && bounded.JSON(data, bounded.Small) == nil && json.Unmarshal(data, into) == nil
}

// savedSplits are those of a DatasetDict that was saved to disk.
func savedSplits(dir string) ([]string, bool, error) {
	var d struct {
		Splits []string `json:"splits"`
	}
	if !document(dir, "dataset_dict.json", &d) || len(d.Splits) == 0 {
		return nil, false, nil
	}
	for _, s := range d.Splits {
		if !filepath.IsLocal(s) || s == "." || s != filepath.Base(s) {
			return nil, true, refuse("dataset_dict.json lists a split that is no folder beside it: save the data set again")
		}
	}
	slices.Sort(d.Splits)
	return slices.Compact(d.Splits), true, nil
}

// savedFiles are those of a Dataset that was saved to disk.
func savedFiles(dir string) (out []string, ok bool, err error) {
	var d struct {
		Files []struct {
			Name string `json:"filename"`
		} `json:"_data_files"`
	}
	if !document(dir, "state.json", &d) || len(d.Files) == 0 {
		return nil, false, nil
	}
	for _, f := range d.Files {
		path, err := inside(dir, f.Name)
		if err != nil {
			return nil, true, err
		}
		out = append(out, path)
	}
	return out, true, nil
}

// cardSplits reads which files a split has from the front matter of README.md, as the Hub does:
// a list configs with data_files, of which each has a split and a path.
func cardSplits(dir string) (map[string][]string, error) {
	data, err := bounded.ReadFile(filepath.Join(dir, "README.md"), bounded.Small)
	if err != nil {
		return nil, nil // there need not be one
	}
	text, ok := strings.CutPrefix(strings.ReplaceAll(string(data), "\r\n", "\n"), "---\n")
	front, _, closed := strings.Cut(text, "\n---")
	if !ok || !closed {
		return nil, nil
	}
	type entry struct{ config, split, pattern string }
	var entries []entry
	config, split, within := "", "", false
	configs := map[string]bool{}
	for line := range strings.Lines(front) {
		plain := strings.TrimRight(line, "\n")
		if plain != "" && plain[0] != ' ' && plain[0] != '-' {
			within = strings.HasPrefix(plain, "configs:")
			continue
		}
		if !within {
			continue
		}
		item := strings.TrimSpace(plain)
		key, value, pair := strings.Cut(strings.TrimSpace(strings.TrimPrefix(item, "-")), ":")
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		switch {
		case pair && key == "config_name":
			config, split = value, ""
			configs[config] = true
		case pair && key == "split":
			split = value
		case pair && (key == "path" || key == "data_files") && value != "":
			entries = append(entries, entry{config, split, value})
		case !pair && strings.HasPrefix(item, "-") && split != "": // a list of paths
			entries = append(entries, entry{config, split, strings.Trim(key, `"'`)})
		}
	}
	out := map[string][]string{}
	for _, e := range entries {
		path, err := inside(dir, e.pattern)
		if err != nil {
			return nil, err
		}
		files, err := filepath.Glob(path)
		if err != nil {
			return nil, refuse("README.md of the folder has a pattern of files that cannot be read")
		}
		name := e.split
		if name == "" {
			name = "train"
		}
		if len(configs) > 1 {
			name = e.config + "/" + name
		}
		if files = slices.DeleteFunc(files, func(f string) bool { return !IsShard(f) }); len(files) > 0 {
			out[name] = append(out[name], files...)
		}
	}
	return out, nil
}

// splitWords are what names of files and folders say about splits, as on the Hub.
var splitWords = []struct{ word, split string }{
	{"train", "train"},
	{"training", "train"},
	{"validation", "validation"},
	{"valid", "validation"},
	{"val", "validation"},
	{"dev", "validation"},
	{"test", "test"},
	{"testing", "test"},
	{"eval", "test"},
	{"evaluation", "test"},
}

// namedSplits finds data files by the words in their names.
func namedSplits(dir string) (map[string][]string, error) {
	out, n := map[string][]string{}, 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(d.Name(), ".") && path != dir:
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() || !IsShard(path):
			return nil
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() { // links count
			return err
		}
		if n++; n > maxShards {
			return refuse("the folder has more than %d files: name one", maxShards)
		}
		inner, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		out[splitOf(inner)] = append(out[splitOf(inner)], path)
		return nil
	})
	return out, err
}

func splitOf(path string) string {
	words := strings.FieldsFunc(strings.ToLower(filepath.ToSlash(path)), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9')
	})
	for _, w := range splitWords {
		if slices.Contains(words, w.word) {
			return w.split
		}
	}
	return "train" // as the datasets library has it
}

// IsShard reports whether a file may have records, by its name.
func IsShard(path string) bool {
	switch filepath.Base(path) {
	case "dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json", "package.json", "config.json":
		return false
	}
	switch Ext(path) {
	case ".parquet", ".arrow", ".jsonl", ".ndjson", ".json", ".csv", ".tsv":
		return true
	}
	return false
}
