package ui

import "strings"

// Pairs reads the NAME=VALUE pairs of a flag, each name once.
func Pairs(flag string, pairs []string) (map[string]string, error) {
	m := map[string]string{}
	for _, pair := range pairs {
		k, v, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, Usage("--%s is %q, it should be NAME=VALUE, such as team=risk", flag, pair)
		}
		if _, twice := m[k]; twice {
			return nil, Usage("--%s gives %q twice", flag, k)
		}
		m[k] = v
	}
	return m, nil
}
