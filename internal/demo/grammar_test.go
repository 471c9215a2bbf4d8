package demo

import (
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// TestEveryAlternative expands all there are: a word that leads nowhere is found.
func TestEveryAlternative(t *testing.T) {
	each(t, func(t *testing.T, m *Messages) {
		reached := map[string]bool{}
		var visit func(string)
		visit = func(rule string) {
			if reached[rule] || planted[rule] {
				return
			}
			reached[rule] = true
			for _, a := range m.grammar()[rule] {
				for _, name := range references(a) {
					visit(name)
				}
			}
		}
		for _, a := range m.topics {
			visit("message." + a.name)
		}
		for _, rule := range []string{"first", "last.head", "last.tail", "street", "street.kind"} {
			visit(rule)
		}
		for rule := range m.grammar() {
			if !reached[rule] {
				t.Errorf("no message uses the rule %s", rule)
			}
		}
	})
}

func TestParseGrammar(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"  a\n", "before any rule"},
		{"a\n", "ends with a colon"},
		{"a:\n  b\na:\n  c\n", "already"},
		{"PERSON:\n  b\n", "already"},
		{"a:\n  {b}\n", "no alternative"},
		{"a:\n  {b\n", "no alternative"},
		{"a:\n", "no alternative"},
		{"a:\n  {b}\nb:\n  {c}\nc:\n  {a}\n", "leads back"},
		{"a:\n  x × b\n", "number of times"},
		{"a:\n  0 × b\n", "number of times"},
		{"a:\n  1000000000 × b\n", "number of times"},
	} {
		if _, err := parseGrammar(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %s", test.text, err, test.want)
		}
	}
	g, err := parseGrammar("# note\na:\n  3 × x\n  {b} {PHONE}\n\nb:\n  2 × \n  c\n")
	if err != nil {
		t.Fatal(err)
	}
	expect.Len(t, "g['a']", g["a"], 4)
	expect.Len(t, "g['b']", g["b"], 3)
	expect.Equal(t, "g['b'][0]", g["b"][0], "")
}

// FuzzParseGrammar: what is accepted has alternatives for whatever it refers to.
func FuzzParseGrammar(f *testing.F) {
	f.Add("a:\n  3 × {b}\nb:\n  {PERSON}\n")
	f.Add("a:\n  {a}\n")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := parseGrammar(text)
		if err != nil {
			return
		}
		for rule, alternatives := range g {
			if len(alternatives) == 0 {
				t.Errorf("rule %q is empty", rule)
			}
			for _, a := range alternatives {
				for _, name := range references(a) {
					if len(g[name]) == 0 && !planted[name] {
						t.Errorf("%q refers to %q, which is not there", rule, name)
					}
				}
			}
		}
	})
}
