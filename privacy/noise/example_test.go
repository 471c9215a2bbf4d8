package noise_test

import (
	"fmt"

	"github.com/sotto-dp/sotto/privacy/noise"
)

// A vector of integer sums on a grid of 2^-20, released as gaussian(0.51).
func ExampleNewGaussian() {
	key, err := noise.NewKey()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer key.Erase()
	grid, err := noise.NewGrid(20)
	if err != nil {
		fmt.Println(err)
		return
	}
	mechanism, err := noise.NewGaussian(noise.Options{Multiplier: 0.51, Sensitivity: 1.5, Grid: grid})
	if err != nil {
		fmt.Println(err)
		return
	}
	sums := []int64{3 << 20, 1 << 19, 0}
	stream := key.Stream("token noise", 0, 17) // text 0, token 17
	if err := mechanism.AddTo(stream, sums); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("private:", stream.Private())
	fmt.Println("granularity:", mechanism.Grid())
	fmt.Println("standard deviation:", mechanism.Scale())
	// Output:
	// private: true
	// granularity: 2^-20
	// standard deviation: 0.765
}

// Sampling a token ∝ exp(score) from scores in units of 2^-16.
func ExampleSelector_Softmax() {
	grid, err := noise.NewGrid(16)
	if err != nil {
		fmt.Println(err)
		return
	}
	selector, err := noise.NewSelector(noise.SelectorOptions{Grid: grid})
	if err != nil {
		fmt.Println(err)
		return
	}
	stream := noise.KeyFromSeed(1).Stream("token", 0)
	index, err := selector.Softmax(stream, []int64{-40 << 16, 0, -50 << 16})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("token", index, "private:", stream.Private())
	// Output: token 1 private: false
}

// Poisson sampling at the rate 20/30000, each sampled record assigned to one of
// ten prompts.
func ExampleInclusion() {
	rate, err := noise.ProbabilityFloat(20. / 30000)
	if err != nil {
		fmt.Println(err)
		return
	}
	key := noise.KeyFromSeed(3)
	records, err := noise.NewInclusion(rate).Draw(key.Stream("sample", 0), 30000, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	prompts, err := key.Stream("assign", 0).Assign(len(records), 10, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(records) == len(prompts), "NOT PRIVATE:", !key.Private())
	// Output: true NOT PRIVATE: true
}
