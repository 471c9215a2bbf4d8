package certificate

import (
	"fmt"
	"slices"
	"strings"

	"sotto/privacy"
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
)

// requiredAssumptions are those that follow from the other fields.
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
		if !p.Model.BatchInvariant {
			a = append(a, assumeInvariant)
		}
	}
	return a
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

// samplersOf are the kinds of sampling that an event takes credit for, sorted.
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
