package demo

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

//go:embed names.txt
var names string

// grammar maps a rule's name to its alternatives. An alternative that counts
// several times is in the list as often.
type grammar map[string][]string

// rules parses an embedded grammar once. It is part of the program, so that an error in it
// is one of the program; the tests expand every alternative.
func rules(text string) func() grammar {
	return sync.OnceValue(func() grammar {
		g, err := parseGrammar(text + "\n" + names)
		if err != nil {
			panic(err)
		}
		return g
	})
}

func parseGrammar(text string) (grammar, error) {
	g := grammar{}
	rule := ""
	for i, line := range strings.Split(text, "\n") {
		body := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#") || body == "":
		case strings.HasPrefix(line, "  "):
			if rule == "" {
				return nil, fmt.Errorf("grammar line %d: an alternative before any rule", i+1)
			}
			times, alternative, err := weighted(body)
			if err != nil {
				return nil, fmt.Errorf("grammar line %d: %w", i+1, err)
			}
			for range times {
				g[rule] = append(g[rule], alternative)
			}
		default:
			name, ok := strings.CutSuffix(body, ":")
			if !ok {
				return nil, fmt.Errorf("grammar line %d: a rule ends with a colon", i+1)
			}
			if _, twice := g[name]; twice || planted[name] {
				return nil, fmt.Errorf("grammar line %d: there is a rule %q already", i+1, name)
			}
			g[name] = nil
			rule = name
		}
	}
	return g, g.check()
}

// weighted splits "3 × text" into 3 and text.
func weighted(body string) (int, string, error) {
	count, rest, ok := strings.Cut(body, "×")
	if !ok {
		return 1, body, nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(count))
	if err != nil || n < 1 || n > 100 {
		return 0, "", fmt.Errorf("%q is not a number of times from 1 to 100", count)
	}
	return n, strings.TrimSpace(rest), nil
}

// check finds references to what is not there, and rules that lead back to themselves.
func (g grammar) check() error {
	const visiting, done = 1, 2
	state := map[string]int{}
	var visit func(string) error
	visit = func(name string) error {
		if planted[name] || state[name] == done {
			return nil
		}
		if state[name] == visiting {
			return fmt.Errorf("grammar: rule %q leads back to itself", name)
		}
		if len(g[name]) == 0 {
			return fmt.Errorf("grammar: rule %q has no alternative", name)
		}
		state[name] = visiting
		for _, alternative := range g[name] {
			for _, part := range references(alternative) {
				if err := visit(part); err != nil {
					return err
				}
			}
		}
		state[name] = done
		return nil
	}
	for name := range g {
		if err := visit(name); err != nil {
			return err
		}
	}
	return nil
}

// references lists the names in braces.
func references(alternative string) []string {
	var names []string
	for {
		_, rest, ok := strings.Cut(alternative, "{")
		if !ok {
			return names
		}
		name, after, _ := strings.Cut(rest, "}")
		names = append(names, name)
		alternative = after
	}
}
