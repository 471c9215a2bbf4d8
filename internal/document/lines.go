package document

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// lines are those of a file at which tables and keys begin, by their path.
type lines map[string]int

var (
	header = regexp.MustCompile(`^\s*(\[\[?)\s*([^\]]+?)\s*\]`)
	assign = regexp.MustCompile(`^\s*((?:"[^"]+"|'[^']+'|[\w-]+)(?:\s*\.\s*(?:"[^"]+"|'[^']+'|[\w-]+))*)\s*=`)
)

// findLines finds where things are in a TOML file, for messages: the decoder does not
// tell. A key that does not begin its line is missed.
func findLines(text string) lines {
	out := lines{}
	counts := map[string]int{}
	table, quotes := "", ""
	for i, line := range strings.Split(text, "\n") {
		within := quotes != ""
		if quotes = endsWithin(line, quotes); within {
			continue
		}
		if m := header.FindStringSubmatch(line); m != nil {
			table = unquote(m[2])
			if m[1] == "[[" {
				counts[table]++
				table = fmt.Sprintf("%s[%d]", table, counts[table])
			} else if first, rest, ok := strings.Cut(table, "."); ok && counts[first] > 0 {
				table = fmt.Sprintf("%s[%d].%s", first, counts[first], rest)
			}
			out.add(table, i+1)
		} else if m := assign.FindStringSubmatch(line); m != nil {
			key := unquote(m[1])
			if table != "" {
				key = table + "." + key
			}
			out.add(key, i+1)
		}
	}
	return out
}

// endsWithin is the quotes of the string of many lines that goes on after a line, or "".
func endsWithin(line, quotes string) string {
	for line != "" {
		if quotes == "" {
			basic, literal := strings.Index(line, `"""`), strings.Index(line, "'''")
			if basic < 0 && literal < 0 {
				return ""
			}
			if quotes = `"""`; basic < 0 || literal >= 0 && literal < basic {
				quotes = "'''"
			}
			_, line, _ = strings.Cut(line, quotes)
			continue
		}
		_, rest, ended := strings.Cut(line, quotes)
		if !ended {
			return quotes
		}
		line, quotes = rest, ""
	}
	return quotes
}

func unquote(s string) string { return strings.NewReplacer(`"`, "", `'`, "", " ", "").Replace(s) }

func (l lines) add(where string, line int) {
	if _, there := l[where]; !there {
		l[where] = line
	}
}

// of is the line of a key, or else of what it is in.
func (l lines) of(where string) int {
	where = unquote(where)
	for where != "" {
		if line := l[where]; line > 0 {
			return line
		}
		cut := strings.LastIndexAny(where, ".[")
		if cut < 0 {
			return 0
		}
		where = where[:cut]
	}
	return 0
}

var index = regexp.MustCompile(`\[\d+\]`)

// like lists the keys that are the same but for which element of a list they are in, in
// the order of the file.
func (l lines) like(key []string) []string {
	want := unquote(strings.Join(key, "."))
	var out []string
	for where := range l {
		if where == want || strings.Contains(where, "[") && index.ReplaceAllString(where, "") == want {
			out = append(out, where)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return l[a] - l[b] })
	return out
}
