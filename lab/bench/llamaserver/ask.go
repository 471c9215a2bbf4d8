package llamaserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/sotto-dp/sotto/lm"
)

// AnySlot lets the server choose where it computes a prompt: where most of it is cached.
const AnySlot = -1

// Answer holds the probabilities of the labels among themselves after a prompt, and how
// many of its tokens were computed.
type Answer struct {
	Scores   []float64
	Computed int64
}

// query asks for the labels' probabilities at the least cost for the server: the labels
// are lifted above all other tokens by the same amount, so that they are the best ones,
// and only their probabilities, which are then those among the labels, are sent.
type query struct {
	Prompt      any      `json:"prompt"`
	Slot        int      `json:"id_slot"`
	NPredict    int      `json:"n_predict"`
	NProbs      int      `json:"n_probs"`
	After       bool     `json:"post_sampling_probs"`
	Temperature float64  `json:"temperature"`
	TopK        int      `json:"top_k"`
	Bias        [][2]int `json:"logit_bias"`
	Samplers    []string `json:"samplers"`
	CachePrompt bool     `json:"cache_prompt"`
	Fields      []string `json:"response_fields"`
}

// lift is more than logits differ by, and little enough for float32 to keep them exact
// to a hundred-thousandth.
const lift = 100

type reply struct {
	Index         int   `json:"index"`
	Evaluated     int64 `json:"tokens_evaluated"`
	Cached        int64 `json:"timings/cache_n"`
	Probabilities []struct {
		Top []struct {
			ID   lm.Token `json:"id"`
			Prob float64  `json:"prob"`
		} `json:"top_probs"`
	} `json:"completion_probabilities"`
}

// Ask sends one request for what follows some prompts, to be computed in a slot.
func (s *Server) Ask(ctx context.Context, prompts [][]lm.Token, labels []lm.Token, slot int) ([]Answer, error) {
	q := query{
		Prompt: prompts, Slot: slot, NPredict: 1, NProbs: len(labels), After: true, Temperature: 1, TopK: len(labels), Samplers: []string{"top_k"}, CachePrompt: true,
		Fields: []string{"index", "completion_probabilities", "tokens_evaluated", "timings/cache_n"},
	}
	for _, t := range labels {
		q.Bias = append(q.Bias, [2]int{int(t), lift})
	}
	data, err := s.post(ctx, "/completion", q)
	if err != nil {
		return nil, err
	}
	replies := make([]reply, 1)
	if len(data) > 0 && data[0] != '[' {
		err = json.Unmarshal(data, &replies[0])
	} else {
		err = json.Unmarshal(data, &replies)
	}
	if err == nil && len(replies) != len(prompts) {
		err = fmt.Errorf("llama.cpp's server: %d answers to %d questions", len(replies), len(prompts))
	}
	if err != nil {
		return nil, err
	}
	answers := make([]Answer, len(prompts))
	for _, r := range replies {
		if r.Index < 0 || r.Index >= len(answers) {
			return nil, errors.New("llama.cpp's server: an answer is not what its interface describes")
		}
		if answers[r.Index], err = r.read(labels); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// read takes the labels' probabilities off a reply.
func (r reply) read(labels []lm.Token) (Answer, error) {
	if len(r.Probabilities) != 1 {
		return Answer{}, errors.New("llama.cpp's server: an answer is not what its interface describes")
	}
	a := Answer{make([]float64, len(labels)), r.Evaluated - r.Cached}
	var sum float64
	for _, t := range r.Probabilities[0].Top {
		if j := slices.Index(labels, t.ID); j >= 0 {
			a.Scores[j] = t.Prob
			sum += t.Prob
		}
	}
	if sum < 0.999 {
		return Answer{}, fmt.Errorf("llama.cpp's server: the labels have a probability of %v among themselves", sum)
	}
	return a, nil
}

// Forget empties the caches of all slots.
func (s *Server) Forget(ctx context.Context) error {
	for slot := range s.Slots {
		if _, err := s.post(ctx, fmt.Sprintf("/slots/%d?action=erase", slot), struct{}{}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) post(ctx context.Context, path string, body any) ([]byte, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	got, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	data, err := io.ReadAll(got.Body)
	if err == nil && got.StatusCode != http.StatusOK {
		err = fmt.Errorf("llama.cpp's server: %s: %s", got.Status, data)
	}
	return data, err
}
