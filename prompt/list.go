package prompt

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
)

// ReadList reads a public list of things: a line each, or JSONL of texts or of objects
// with the task's column.
func ReadList(path, column, thing string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the list of %ss: %w", thing, err)
	}
	defer f.Close()
	structured := filepath.Ext(path) == ".jsonl" || filepath.Ext(path) == ".ndjson"
	var list []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		if structured {
			if line, err = conditionOf([]byte(line), column); err != nil {
				return nil, fmt.Errorf("%s, line %d: %w", path, n, err)
			}
			if strings.TrimSpace(line) == "" {
				return nil, fmt.Errorf("%s, line %d: the %s is empty", path, n, thing)
			}
		}
		if !utf8.ValidString(line) {
			return nil, fmt.Errorf("%s, line %d: the %s is not text in UTF-8", path, n, thing)
		}
		list = append(list, line)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s is empty: it should hold a %s a line", path, thing)
	}
	return list, nil
}

func conditionOf(line []byte, column string) (string, error) {
	var text string
	if bounded.UnmarshalJSON(line, bounded.Large, &text) == nil {
		return text, nil
	}
	var object map[string]any
	if err := bounded.UnmarshalJSON(line, bounded.Large, &object); err != nil {
		return "", errors.New("it is neither a text nor an object in JSON")
	}
	text, ok := object[column].(string)
	if !ok {
		return "", fmt.Errorf("the object has no text under %q, the column of the task", column)
	}
	return text, nil
}
