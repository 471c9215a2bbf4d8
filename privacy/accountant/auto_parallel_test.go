package accountant

import (
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
)

// TestPlainParallelCostsItsWorstPart: under add-remove a parallel event, alone or composed
// with others, costs what its worst part does, to the last digit; under replace-one two
// parts are touched, and it costs more.
func TestPlainParallelCostsItsWorstPart(t *testing.T) {
	const (
		mild  = "poisson(1/500, repeat(15, boundedrange(0.7)))"
		harsh = "poisson(1/50, repeat(15, boundedrange(0.5)))"
		count = "laplace(20)"
	)
	for _, c := range []struct{ whole, worst string }{
		{"parallel(" + mild + ", " + harsh + ")", harsh},
		{"parallel(" + harsh + ", " + harsh + ", " + mild + ")", harsh},
		{"compose(" + count + ", parallel(" + mild + ", " + harsh + "))", "compose(" + count + ", " + harsh + ")"},
		{"parallel(gaussian(2), pure(0.1))", "gaussian(2)"},
	} {
		whole, worst := mustParse(t, c.whole), mustParse(t, c.worst)
		got, err := Auto{}.Epsilon(whole, privacy.AddRemove, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Auto{}.Epsilon(worst, privacy.AddRemove, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		at := expect.At(t, "%s, and its worst part", c.whole)
		expect.Equal(at, "got.Upper", got.Upper, want.Upper)
		expect.Within(at, "got.Lower", got.Lower, want.Lower, got.Upper)
		delta, err := Auto{}.Delta(whole, privacy.AddRemove, want.Upper)
		at = expect.At(t, "δ of %s at its ε", c.whole)
		expect.NoError(at, err)
		expect.Within(at, "delta.Upper", delta.Upper, 1e-7, 1e-6*(1+1e-2))
		replaced, err := Auto{}.Epsilon(whole, privacy.ReplaceOne, 1e-6)
		if err == nil && replaced.Upper <= got.Upper {
			t.Errorf("%s costs %v under replace-one, %v under add-remove", c.whole, replaced, got)
		}
	}
}

// TestParallelPartsThatRunTwice: two parallel nodes are two partitions, and a record may
// be in the worst part of both.
func TestParallelPartsThatRunTwice(t *testing.T) {
	twice := mustParse(t, "repeat(2, parallel(gaussian(2), pure(0.1)))")
	got, err := Auto{}.Epsilon(twice, privacy.AddRemove, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Auto{}.Epsilon(mustParse(t, "repeat(2, gaussian(2))"), privacy.AddRemove, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	if got.Upper < want.Lower {
		t.Errorf("two partitions cost %v, the worst parts alone %v", got, want)
	}
}
