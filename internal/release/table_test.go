package release

import (
	"html"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// profiled returns a release of averages, with a table of them.
func profiled(t *testing.T) Release {
	r := news(t)
	r.Origin, r.Method = Averaged, "profile"
	r.Tables = []Table{{
		Title: "Groups <all>", Note: "Bars & such.", Head: []string{"group", "age"},
		Rows: [][]Cell{{{Text: "a | b"}, {Text: "41 ± 2", Bar: &Bar{Low: -0.2, At: 0.4, High: 3}}}},
	}}
	return r
}

// TestTables: numbers are shown with their bars, which stay within their frame.
func TestTables(t *testing.T) {
	page := string(rendered(t, profiled(t))["report.html"])
	for _, want := range []string{
		"<h2>Groups &lt;all&gt;</h2>", "Bars &amp; such.", `<th scope="col">age</th>`, "41 ± 2",
		`<rect x="0" y="2" width="100"`, `<rect x="40" y="0"`, "noisy averages", "No row has these values",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %q", want)
		}
	}
	if strings.Contains(page, "language model made the texts up") {
		t.Error("averages are said to be written by a model")
	}
	if found := remote.FindString(page); found != "" {
		t.Errorf("the page refers to something: %q", found)
	}
}

// TestUnsigned: what has no certificate does not speak of one.
func TestUnsigned(t *testing.T) {
	for made, words := range map[Origin]string{Sampled: "from the perturbed rows", Drawn: "from the profile that it was drawn from"} {
		t.Run(string(made), func(t *testing.T) {
			r := news(t)
			r.Origin, r.Unsigned = made, true
			for name, data := range rendered(t, r) {
				text := html.UnescapeString(string(data))
				at := expect.At(t, "%s: %s speaks of a certificate, or of none of the guarantee", made, name)
				expect.True(at, "no sotto verify in text", !strings.Contains(text, "sotto verify"), text)
				expect.True(at, "no certificate.json in text", !strings.Contains(text, "certificate.json"), text)
				expect.True(at, "no Mark in text", !strings.Contains(text, Mark), text)
				if name == "report.html" && (!strings.Contains(text, words) || !strings.Contains(text, "Rows. Each was made up")) {
					t.Errorf("%s does not say whose the guarantee is, or what the rows are", name)
				}
			}
		})
	}
}
