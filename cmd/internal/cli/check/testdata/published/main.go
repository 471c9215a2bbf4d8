// Command published re-creates mistakes of programs that papers came with, each as small as it can
// be and beside the same mechanism done right, so that "sotto audit --command" can be tried on them.
//
//	published MISTAKE {data} {seed} {runs} [right]
//
// It reads records, one on each line, and prints a run on each line.
//
//   - reseeding: noise of every token comes from a generator that is made anew, with the same
//     seed, inside the loop over tokens. Claim: repeat(2, gaussian(1)).
//   - labels: noisy texts, each with the label of a private record that was drawn, as it is.
//     Claim: pure(1).
//   - threshold: a numeric column becomes a yes or no at the mean of the private rows, without noise,
//     before each value is perturbed. Claim: rr(1, 2) for each row, under replace-one.
package main

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) < 5 {
		fmt.Fprintln(os.Stderr, "published MISTAKE DATA SEED RUNS [right]")
		os.Exit(2)
	}
	data, err := os.ReadFile(os.Args[2])
	seed, err2 := strconv.ParseUint(os.Args[3], 10, 64)
	runs, err3 := strconv.Atoi(os.Args[4])
	if err != nil || err2 != nil || err3 != nil {
		fmt.Fprintln(os.Stderr, "published: wrong arguments", err, err2, err3)
		os.Exit(2)
	}
	right := len(os.Args) > 5 && os.Args[5] == "right"
	records := strings.Split(strings.TrimSpace(string(data)), "\n")
	mistake := map[string]func([]string, *rand.Rand, bool) string{"reseeding": reseeding, "labels": labels, "threshold": threshold}[os.Args[1]]
	if mistake == nil {
		fmt.Fprintln(os.Stderr, "published: no such mistake:", os.Args[1])
		os.Exit(2)
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	r := rand.New(rand.NewPCG(seed, 1))
	for range runs {
		fmt.Fprintln(out, mistake(records, r, right))
	}
}

// reseeding writes two tokens, each a noisy sum of what records say: a record votes for the second
// token and abstains from the first, so that the noise of the first, seen again, gives it away.
func reseeding(records []string, r *rand.Rand, right bool) string {
	seed := r.Uint64()
	var out []string
	for token := range 2 {
		noise := r
		if !right {
			noise = rand.New(rand.NewPCG(seed, 2)) // as at every other token
		}
		sum := 0.
		for _, record := range records {
			if record == "second" && token == 1 {
				sum++
			}
		}
		out = append(out, fmt.Sprintf("%.3f", sum+noise.NormFloat64()))
	}
	return strings.Join(out, " ")
}

// labels prints a text that says next to nothing, and the label of a record.
func labels(records []string, r *rand.Rand, right bool) string {
	words := []string{"a", "text", "of", "some", "words"}
	label := records[r.IntN(len(records))]
	if public := []string{"sport", "business", "rare-disease"}; right && r.Float64() >= (math.E-1)/(math.E+2) {
		label = public[r.IntN(len(public))] // randomised response of ε = 1 over a public list
	}
	return label + " " + words[r.IntN(len(words))]
}

// threshold prints the first row of a table, as a yes or no with randomised response. The last row
// moves the mean that the others are compared with.
func threshold(records []string, r *rand.Rand, right bool) string {
	var rows []float64
	sum := 0.
	for _, record := range records {
		x, err := strconv.ParseFloat(record, 64)
		if err != nil {
			continue
		}
		rows = append(rows, x)
		sum += x
	}
	cut := sum / float64(len(rows))
	if right {
		cut = 50 // public
	}
	keep := math.E / (1 + math.E)
	var out []string
	for _, x := range rows {
		yes := x >= cut
		if r.Float64() >= keep {
			yes = !yes
		}
		out = append(out, map[bool]string{true: "yes", false: "no"}[yes])
	}
	return strings.Join(out, " ")
}
