package plan_test

import (
	"errors"
	"math"
	"testing"

	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/sys/expect"
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
		t.Run(text, func(t *testing.T) {
			r, err := plan.ProfileRequest{Schema: of}.With(method.Values{"group": []string{text}})
			if n := of.GroupCount(r.Groups); err != nil || n != want {
				t.Errorf("%s makes %d groups, want %d (%v)", text, n, want, err)
			}
		})
	}
}

// TestTableSettings: what people write is what is asked for, and what they get wrong is an
// error about the setting.
func TestTableSettings(t *testing.T) {
	r, err := plan.ProfileRequest{Schema: bank(t), Epsilon: 1}.With(method.Values{
		"noise": "gaussian", "rate": 0.5, "unit": "customer", "rows_per_unit": 2, "adjacency": "replace-one", "weights": "age=2, income=1/2", "count_weight": 3,
		"statistic": []string{"age=quantile:0.1", "age=quantile:9/10", "income=median", "home=skip"},
	})
	expect.NoError(t, err)
	expect.Equal(t, "r.Noise", r.Noise, global.Gaussian)
	expect.Equal(t, "r.Rate", r.Rate, 0.5)
	expect.Equal(t, "r.Unit", r.Unit, "user:customer")
	expect.Equal(t, "r.RowsPerUnit", r.RowsPerUnit, 2)
	expect.Equal(t, "r.Adjacency", r.Adjacency, "replace-one")
	expect.Equal(t, "r.Weights['age']", r.Weights["age"], 2)
	expect.Equal(t, "r.Weights['income']", r.Weights["income"], 0.5)
	expect.Equal(t, "r.CountWeight", r.CountWeight, 3)
	expect.Len(t, "r.Groups", r.Groups, 1)
	expect.Equal(t, "r.Statistics['age']", r.Statistics["age"], global.Quantiles)
	expect.Len(t, "r.Quantiles['age']", r.Quantiles["age"], 2)
	expect.Equal(t, "r.Quantiles['age'][1]", r.Quantiles["age"][1], 0.9)
	expect.Equal(t, "r.Quantiles['income'][0]", r.Quantiles["income"][0], 0.5)
	expect.Equal(t, "r.Statistics['home']", r.Statistics["home"], global.Skip)
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
	expect.NoError(t, err)
	expect.Equal(t, "l.Weights['age']", l.Weights["age"], 3)
	expect.Equal(t, "l.Split", l.Split, "")
}
