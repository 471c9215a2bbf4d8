package certificate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/privacy"
)

// The wording is part of [PredicateType]: verification compares it.
const (
	assumeHonest    = "The signer ran the named program unmodified, and the events describe every way in which the released files depend on the private records."
	assumeAlone     = "The guarantee covers this release alone; other releases from the same records add to it."
	assumeRandom    = "Draws and noise are unpredictable: they come from the operating system's cryptographic generator, and its key was not kept."
	assumeSizes     = "The declared sizes are public: they were given or paid for, not read off the private records."
	assumeSampling  = "Nobody but the mechanism learns which records were drawn."
	assumeModel     = "The model that read private records is run by a party that may see them."
	assumeInvariant = "The back-end does not promise that a sequence's scores are independent of what else is in its batch; the claim assumes that they are."
	assumeScored    = "Prompts with records were scored one at a time, without what the server had cached, and made-up prompts that were scored so at the start had the same scores to the bit whatever was scored before them; the claim assumes that this holds for the records too."
	assumeRecords   = "Records were asked about one at a time, the prompts of one all at once, without what the server had cached for others, and made-up records that were asked about so at the start had answers that did not depend on the record before; the claim assumes that this holds for the records too."
)

// Isolations maps each way of isolating prompts on a server to the assumption it makes. A run
// that reads records in two ways names both, with a semicolon between them.
var Isolations = map[string]string{
	"alone, on a server of one sequence": "The server computes one sequence at a time, as it says.",
	"alone, by the server's counters":    "The server's counters, by which nobody else used it while records were scored, are right.",
	"alone, by the operator's word":      "Nobody else used the server while records were scored, by the word of who ran this.",

	oneRecord + "on a server of one sequence": "The server computes one sequence at a time, as it says.",
	oneRecord + "by the server's counters":    "The server's counters, by which nobody else used it while records were asked about, are right.",
	oneRecord + "by the operator's word":      "Nobody else used the server while records were asked about, and it kept nothing between them that changes an answer, by the word of who ran this.",
}

const oneRecord = "one record at a time, "

// isolated reads how prompts were isolated: the assumptions that it makes, and whether all of it
// is known.
func isolated(how string) (assumed []string, known bool) {
	for way := range strings.SplitSeq(how, "; ") {
		what, ok := Isolations[way]
		if !ok {
			return nil, false
		}
		general := assumeScored
		if strings.HasPrefix(way, oneRecord) {
			general = assumeRecords
		}
		if slices.Contains(assumed, general) {
			return nil, false // two ways of the same kind
		}
		assumed = append(assumed, general)
		if !slices.Contains(assumed, what) {
			assumed = append(assumed, what)
		}
	}
	return assumed, true
}

// requiredAssumptions returns the assumptions that follow from the other fields.
func requiredAssumptions(p *Predicate, total privacy.Event) []string {
	a := []string{assumeHonest, assumeAlone, assumeAdjacency(p.Adjacency, p.Unit), assumeRandom}
	if len(p.Sizes) > 0 {
		a = append(a, assumeSizes)
	}
	if len(samplersOf(total)) > 0 {
		a = append(a, assumeSampling)
	}
	if p.Model != nil {
		a = append(a, assumeModel)
		a = append(a, p.Model.assumes()...)
	}
	return a
}

// assumes returns the assumptions behind independent scores.
func (m *Model) assumes() []string {
	switch {
	case m.BatchInvariant:
		return nil
	case m.Isolation != "":
		assumed, _ := isolated(m.Isolation) // known, or the model is refused
		return assumed
	}
	return []string{assumeInvariant}
}

func assumeAdjacency(adj privacy.Adjacency, unit privacy.Unit) string {
	what := "one record"
	if column, ok := strings.CutPrefix(string(unit), "user:"); ok {
		what = fmt.Sprintf("all records that share one value of column %q", column)
	}
	if adj == privacy.ReplaceOne {
		return "Protected is the exchange of " + what + " for any other; the number of them is public."
	}
	return "Protected is the presence or absence of " + what + "."
}

// samplersOf returns the kinds of sampling that an event takes credit for, sorted.
func samplersOf(e privacy.Event) []Sampler {
	var kinds []Sampler
	_ = privacy.Walk(e, func(n privacy.Event, _ int) error {
		switch n.(type) {
		case privacy.Poisson:
			kinds = append(kinds, SamplePoisson)
		case privacy.FixedSize:
			kinds = append(kinds, SampleFixedSize)
		}
		return nil
	})
	slices.Sort(kinds)
	return slices.Compact(kinds)
}
