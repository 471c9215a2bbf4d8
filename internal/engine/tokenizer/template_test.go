package tokenizer

import "testing"

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ name, template, want string }{
		{"text", "a b\n", `{{"a b` + "\n" + `"}}`},
		{"expression", "{{ message['role'] }}", `{{message.role}}`},
		{"sum", "<{{ x }}>{{- ' y' + \"z\" }}", `{{"<"+x+"> yz"}}`},
		{"statement", "{% if   a == 'b c' %}x{% endif %}", `{%ifa=="b c"%}{{"x"}}{%endif%}`},
		{"comment", "a{# {{ b }} ' #}c", `{{"ac"}}`},
		{"line after a statement", "{% if a %}\n x\n{% endif %}\n", `{%ifa%}{{" x` + "\n" + `"}}{%endif%}`},
		{"blanks before a statement", "x\n  {% if a %}  {% endif %}", `{{"x` + "\n" + `"}}{%ifa%}{{"  "}}{%endif%}`},
		{"blanks between statements", "{% if a %}\n  {% set b %}{% endif %}", `{%ifa%}{%setb%}{%endif%}`},
		{"blanks before an expression", "x\n  {{ a }}", `{{"x` + "\n  " + `"+a}}`},
		{"trimmed", "x \n {{- a -}} \n y {%- if b -%} \n z", `{{"x"+a+"y"}}{%ifb%}{{"z"}}`},
		{"escapes", `{{ 'a\n\t\'\\' + "\"" }}`, "{{\"a\n\t'\\" + quoteMark + "\"}}"},
		{"braces in a literal", `{{ '}}' + "%}" }}`, `{{"}}%}"}}`},
		{"quote in a comment", "{# don't #}x", `{{"x"}}`},
		{"open expression", "{{ a", ""},
		{"open literal", "{{ 'a }}", ""},
		{"open comment", "{# a", ""},
		{"empty", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := canonical(c.template); got != c.want {
				t.Errorf("%q and not %q", got, c.want)
			}
		})
	}
}

func TestLooksAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range signatures() {
		if makers[l.layout] == nil {
			t.Errorf("nothing makes the layout %q", l.layout)
		}
		seen[l.layout] = true
	}
	for name := range makers {
		if !seen[name] {
			t.Errorf("no template looks like %q", name)
		}
	}
}
