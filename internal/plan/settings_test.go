package plan_test

import (
	"errors"
	"math"
	"testing"

	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/schema"
)

func bank(t *testing.T) schema.Schema {
	t.Helper()
	of, err := schema.Parse("loans", demo.LoansFile())
	if err != nil {
		t.Fatal(err)
	}
	return of
}

// TestProfileGroups: classes of numbers are cut, those of values are listed.
func TestProfileGroups(t *testing.T) {
	of := bank(t)
	for text, want := range map[string]int{
		"repaid": 2, "income:40,70": 3, "home:own/rent,family": 2, "home:own/": 2, "home": 3, "age": 3, "age: 40": 2,
	} {
		r, err := plan.ProfileRequest{Schema: of}.With(method.Values{"group": []string{text}})
		if n := of.GroupCount(r.Groups); err != nil || n != want {
			t.Errorf("%s makes %d groups, want %d (%v)", text, n, want, err)
		}
	}
}

// TestTableSettings: what people write is what is asked for, and what they get wrong is an
// error about the setting.
func TestTableSettings(t *testing.T) {
	r, err := plan.ProfileRequest{Schema: bank(t), Epsilon: 1}.With(method.Values{
		"noise": "gaussian", "rate": 0.5, "unit": "customer", "rows_per_unit": 2, "adjacency": "replace-one", "weights": "age=2, income=1/2", "count_weight": 3,
		"statistic": []string{"age=quantile:0.1", "age=quantile:9/10", "income=median", "home=skip"}, "paper": true,
	})
	if err != nil || r.Noise != global.Gaussian || r.Rate != 0.5 || r.Unit != "user:customer" || r.RowsPerUnit != 2 || r.Adjacency != "replace-one" ||
		r.Weights["age"] != 2 || r.Weights["income"] != 0.5 || r.CountWeight != 3 || !r.Published || len(r.Groups) != 1 ||
		r.Statistics["age"] != global.Quantiles || len(r.Quantiles["age"]) != 2 || r.Quantiles["age"][1] != 0.9 || r.Quantiles["income"][0] != 0.5 || r.Statistics["home"] != global.Skip {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := (plan.ProfileRequest{Schema: bank(t)}).With(method.Values{"noise": "none"}); err != nil || !math.IsInf(r.Epsilon, 1) {
		t.Errorf("without noise: %+v, %v", r, err)
	}
	for _, v := range []method.Values{
		{"group": []string{"repayed"}},
		{"group": []string{"income:x"}},
		{"group": []string{"home:own/castle"}},
		{"group": []string{"income:200"}},
		{"group": []string{"home:own"}},
		{"group": []string{""}},
		{"groups": "3"},
		{"groups": "4", "group": []string{"repaid"}},
		{"statistic": []string{"age"}},
		{"statistic": []string{"ago=mean"}},
		{"statistic": []string{"age=sum"}},
		{"statistic": []string{"age=quantile:x"}},
		{"statistic": []string{"age=mean", "age=mode"}},
		{"histograms": true, "group": []string{"repaid"}},
		{"noise": "none"},
		{"noise": "loud"},
		{"rate": 0},
		{"rows_per_unit": 2},
		{"weights": "age"},
		{"weights": "ago=1"},
		{"weights": "age=1,age=2"},
		{"weights": "age=much"},
	} {
		_, err := plan.ProfileRequest{Schema: bank(t), Epsilon: 1}.With(v)
		var wrong *plan.InputError
		if !errors.As(err, &wrong) || wrong.Option == "" {
			t.Errorf("%v: %v", v, err)
		}
	}
	l, err := plan.LocalRequest{Schema: bank(t)}.With(method.Values{"weights": "age=3"})
	if err != nil || l.Weights["age"] != 3 || l.Split != "" {
		t.Errorf("%+v, %v", l, err)
	}
}
