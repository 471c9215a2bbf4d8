package report

import (
	"bytes"
	_ "embed"
	"html/template"

	"github.com/sotto-dp/sotto/internal/plot"
	"github.com/sotto-dp/sotto/internal/release"
)

//go:embed report.html.tmpl
var page string

// pageTemplate escapes all that it is given, by where it stands.
var pageTemplate = template.Must(template.New("report").Parse(page))

// why no evaluation is private.
const why = "the random numbers of an evaluation are taken from seeds, so that it can be repeated. " +
	"An ε in here says what a run with secret randomness costs; these texts have no guarantee, no certificate and no charge in a ledger"

// reading explains the tables.
var reading = []string{
	"A method writes as many demonstration sets as there are seeds; each is measured on the same test items. A value is the mean over sets, ± their standard deviation; the interval below is where the mean would be, 19 times of 20, with other seeds and other items.",
	"ε = 0: no record is used. ε = ∞: nothing protects the records that are used.",
	"Calibrated: probabilities of labels are divided by those that a question without content gets.",
}

// readingOnline is added where records answer.
var readingOnline = []string{
	"Online: records answer each question by themselves, with another draw for each seed; ε is for a number of answers together. For all others ε pays for demonstrations, which serve any number of answers.",
	"Claimed: a publication says that ε holds, and its proof does not. Such a method is no competitor at that ε.",
}

func (d *document) html() ([]byte, error) {
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, struct {
		*document
		Style     template.CSS
		Mark, Why string
	}{d, template.CSS(plot.PageStyle()), release.Mark, why})
	return b.Bytes(), err
}
