package ensemble_test

import (
	"encoding/json"
	"fmt"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/ensemble"
)

// A vote of the prompts that about 40 of 20000 records are drawn for, and what it costs.
func Example() {
	vote := &ensemble.Vote{
		Draw:  scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 40. / 20000},
		Range: 3,
	}
	if err := vote.Check(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(vote.Event())
	settings, err := json.Marshal(ensemble.Settings{Method: vote})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(settings))
	// Output:
	// poisson(0.002, boundedrange(3))
	// {"method":"vote","settings":{"draw":{"kind":"poisson","per":"text","rate":0.002},"range":3}}
}
