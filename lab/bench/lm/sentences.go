package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/lm/backend"
)

const (
	sentenceCount = 2000
	sentenceMin   = 10 // words, 20 on average
	sentenceMax   = 30
	// sentenceGoal is the speed aimed at, sentences a second.
	sentenceGoal = 1000
	// sentencesShown are how many vectors are compared.
	sentencesShown = 20
)

var sentenceWords = strings.Fields(`the a this every some another one my their its old new small large early late
quiet sudden careful public private local foreign expensive simple strange bright heavy broken honest green
river market report village engine teacher contract harbour patient orchestra budget forest witness bakery
satellite recipe minister goalkeeper library storm vaccine bridge novel invoice garden algorithm museum
opened closed described bought measured lost repaired published ignored remembered crossed questioned
delivered painted translated cancelled won borrowed counted refused in on under behind before after during
without near against through because while although so and but yesterday today soon often never again
slowly abroad together seventeen twice 2019 42`)

// sentences makes up texts of 10 to 30 words, the same ones each time.
func sentences(n int) []string {
	random := rand.New(rand.NewPCG(19, 8))
	list := make([]string, n)
	for i := range list {
		words := make([]string, sentenceMin+random.IntN(sentenceMax-sentenceMin+1))
		for j := range words {
			words[j] = sentenceWords[random.IntN(len(sentenceWords))]
			if j > 0 && j < len(words)-1 && random.IntN(9) == 0 {
				words[j] += ","
			}
		}
		text := strings.Join(words, " ")
		list[i] = strings.ToUpper(text[:1]) + text[1:] + "."
	}
	return list
}

func sentenceTask(count int) measure {
	return measure{
		task:  task{Task: "embed", Texts: sentences(count)},
		Title: "sentences", Per: float64(count), Rate: true, Unit: "sentences/s",
	}
}

// embed times the vectors of texts.
func (w *worker) embed(ctx context.Context, t task) (answer, error) {
	if w.encoder == nil {
		runtime.GOMAXPROCS(w.threads) // it takes as many threads as Go may use
		var err error
		if w.encoder, err = backend.Encoder(""); err != nil {
			return answer{}, fmt.Errorf("%w (in this repository: go run ./cmd/sotto model pull minilm)", err)
		}
	}
	begin := time.Now()
	vectors, err := w.encoder.Embed(ctx, t.Texts)
	a := answer{Seconds: time.Since(begin).Seconds()}
	for _, v := range vectors[:min(len(vectors), sentencesShown)] {
		list := make([]float64, len(v))
		for i, x := range v {
			list[i] = float64(x)
		}
		a.Values = append(a.Values, list)
	}
	return a, err
}
