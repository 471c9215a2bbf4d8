package release

import (
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/prompt"
)

var (
	tag    = regexp.MustCompile(`<(/?)([a-zA-Z!]+)`)
	cells  = regexp.MustCompile(`(?s)<(?:span class="label"|p class="text")>(.*?)</(?:span|p)>`)
	remote = regexp.MustCompile(`(?i)\b(src|href|srcset|action|formaction|xlink:href|on[a-z]+)\s*=|@import|url\(`)
)

// skeleton returns the sequence of tags of a page.
func skeleton(page string) string {
	var b strings.Builder
	for _, m := range tag.FindAllStringSubmatch(page, -1) {
		b.WriteString(m[1] + strings.ToLower(m[2]) + " ")
	}
	return b.String()
}

// FuzzReport: whatever the texts, labels, names and settings say, the page has the
// same tags, and shows them as they are.
func FuzzReport(f *testing.F) {
	f.Add("</td><script>alert(1)</script>", "\" onmouseover=\"x", "'; --></style>")
	f.Add("a", "&lt;b&gt;", "{{.Title}}")
	f.Fuzz(func(t *testing.T, text, label, name string) {
		text, label, name = strings.ToValidUTF8(text, "?"), strings.ToValidUTF8(label, "?"), strings.ToValidUTF8(name, "?")
		plain, odd := paid(news(t)), paid(news(t))
		plain.Sizes, odd.Sizes = plain.Sizes[:1], odd.Sizes[:1]
		odd.Examples[1] = prompt.Example{Input: text, Output: label}
		odd.Task.Title, odd.Model, odd.Version = "T"+name, "M"+name, "V"+name
		odd.Task.Answer.Input = "I" + name
		odd.Settings["temperature"] = "S" + name
		odd.Sizes[0].Part = "P" + name
		odd.Account.Dataset, odd.Account.Others[0].Name, odd.Account.Others[0].Labels = "D"+name, "O"+name, "L"+name
		odd.Signer, odd.Backend, odd.Forecast, odd.Worth.Metric = "K"+name, "B"+name, "F"+name, "W"+name
		want, err := report(plain.filled(), nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := report(odd.filled(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := skeleton(string(want)), skeleton(string(got)); a != b {
			t.Fatalf("tags are\n%s\nnot\n%s", b, a)
		}
		shown := cells.FindAllStringSubmatch(string(got), -1)
		// NUL has no place in HTML and is shown as U+FFFD.
		visible := strings.NewReplacer("\x00", "\uFFFD")
		if html.UnescapeString(shown[2][1]) != visible.Replace(label) || html.UnescapeString(shown[3][1]) != visible.Replace(text) {
			t.Fatalf("%q and %q are shown as %q", label, text, shown[2:4])
		}
	})
}

// paid is a release with all that a run knows of it.
func paid(r Release) Release {
	r.Date, r.Signer, r.Backend = time.Date(2026, 11, 17, 9, 30, 0, 0, time.UTC), "sha256:0123456789abcdef", "embedded"
	r.Account = &Account{
		Dataset: "articles", Budgets: []Balance{{Name: "global", Epsilon: 3, Delta: 1e-5, Spent: 1.75, Left: 1.25, Own: 1}},
		Others: []Use{{Name: "agnews answers", Labels: "team=desk", Times: 2, Last: "2026-10-02", Epsilon: 0.75}},
	}
	r.Worth = &Worth{Metric: "accuracy", Value: 0.78, Low: 0.71, High: 0.85, Epsilon: 0.05}
	r.Forecast = "what to expect"
	return r
}

// filled has what Render fills in.
func (r Release) filled() Release {
	r.Task = r.Task.WithDefaults()
	r.Words = Words(*r.Guarantee, r.Drawn)
	return r
}

// TestReportAlone: the page needs nothing from elsewhere and runs nothing.
func TestReportAlone(t *testing.T) {
	page := string(rendered(t, news(t))["report.html"])
	found := remote.FindString(page)
	at := expect.At(t, "the page refers to something")
	expect.Equal(at, "found", found, "")
	expect.True(at, "no <script in page", !strings.Contains(page, "<script"), page)
	expect.True(at, "no http:// in page", !strings.Contains(page, "http://"), page)
	expect.True(at, "no https:// in page", !strings.Contains(page, "https://"), page)
	for _, want := range []string{"sotto verify .", "sotto account &#39;poisson(", "about 12,345", "30,000 in each of 4 parts", "73.2 %", "default-src &#39;none&#39;"} {
		if !strings.Contains(page, want) && !strings.Contains(page, html.UnescapeString(want)) {
			t.Errorf("there is no %q", want)
		}
	}
}
