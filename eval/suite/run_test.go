package suite_test

import (
	"testing"

	"sotto/eval/suite"
)

func TestFirst(t *testing.T) {
	m := &toy{name: "toy"}
	o := options(t, m)
	res, err := suite.Run(t.Context(), helpline(t, everything), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", res.Cells)
	for _, r := range files(t, o.Out) {
		r.Items = nil
		t.Logf("%+v", r)
	}
}
