package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// measurement is what cost.py writes.
type measurement struct {
	Date     string `json:"date"`
	Device   string `json:"device"`
	Torch    string `json:"torch"`
	DType    string `json:"dtype"`
	Ceilings struct {
		TFlops    float64 `json:"tflops"`
		Gigabytes float64 `json:"gigabytes_a_second"`
	} `json:"ceilings"`
	Rows []measuredRow `json:"rows"`
}

type measuredRow struct {
	Model      string  `json:"model"`
	Parameters int64   `json:"parameters"`
	Work       string  `json:"work"`
	Unit       string  `json:"unit"`
	Units      int64   `json:"units"`
	Tokens     int64   `json:"tokens"`
	Seconds    float64 `json:"seconds"`
	Min        float64 `json:"min"`
	Max        float64 `json:"max"`
	Repeats    int     `json:"repeats"`
}

// cost prints what measured work takes, and what it costs at a price for an hour.
func cost(_ context.Context, s settings) error {
	if s.measured == "" || !(s.price > 0) {
		return errors.New("cost needs -measured, a file that lab/bench/gpu/cost.py wrote, and -price, what an hour of the GPU costs you")
	}
	data, err := os.ReadFile(s.measured)
	if err != nil {
		return err
	}
	m, err := readMeasured(data)
	if err != nil {
		return fmt.Errorf("%s: %w", s.measured, err)
	}
	var out bytes.Buffer
	m.print(&out, s.price, s.currency)
	if s.out == "" {
		_, err = os.Stdout.Write(out.Bytes())
		return err
	}
	return os.WriteFile(s.out, out.Bytes(), 0o644)
}

func readMeasured(data []byte) (m measurement, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return m, err
	}
	if len(m.Rows) == 0 {
		return m, errors.New("nothing was measured: run lab/bench/gpu/cost.py again")
	}
	for _, r := range m.Rows {
		if r.Units <= 0 || r.Tokens <= 0 || !(r.Seconds > 0) || r.Unit == "" {
			return m, fmt.Errorf("the row %q of %s is not complete: run lab/bench/gpu/cost.py again", r.Work, r.Model)
		}
	}
	return m, nil
}

const million = 1e6

// hours that a million units take, at the speed that was measured.
func (r measuredRow) hours() float64 { return million / float64(r.Units) * r.Seconds / 3600 }

func (m measurement) print(w io.Writer, price float64, currency string) {
	fmt.Fprintf(w, "# What a run costs on a GPU\n\n")
	fmt.Fprintf(w, "Made by `make bench-gpu-cost PRICE=%v` from what `lab/bench/gpu/cost.py` measured on %s: one %s, PyTorch %s, %s.\n", price, m.Date, m.Device, m.Torch, m.DType)
	fmt.Fprintf(w, "The forward pass is the one of `lab/bench/gpu/torch`, with random weights of the true shapes. An hour costs %s.\n", money(price, currency))
	fmt.Fprintf(w, "Seconds are the median of whole messages, in brackets the least and the most; a million is that speed times a million.\n")
	fmt.Fprintf(w, "Tokens are those that were computed: a shared prefix counts once. The GPU had no other work, and nothing of what\nthe program does besides the model is in these times.\n")
	if m.Ceilings.TFlops > 0 {
		fmt.Fprintf(w, "\nIn the same run a product of two matrices of 8192 × 8192 in bfloat16 ran at %.0f TFLOP/s, and a copy at %.2f TB/s (bytes\nread and written).\n", m.Ceilings.TFlops, m.Ceilings.Gigabytes/1000)
	}
	model := ""
	for _, r := range m.Rows {
		if r.Model != model {
			model = r.Model
			fmt.Fprintf(w, "\n## %s, %.3g billion parameters\n\n", model, float64(r.Parameters)/1e9)
			fmt.Fprintf(w, "| work | seconds | tokens/s | of the product's speed | units/s | a million take | a million cost |\n|---|---|---|---|---|---|---|\n")
		}
		fmt.Fprintf(w, "| %s | %s (%s–%s) | %s | %s | %s %s | %s | %s |\n", r.Work, digits(r.Seconds), digits(r.Min), digits(r.Max),
			digits(float64(r.Tokens)/r.Seconds), m.share(r), digits(float64(r.Units)/r.Seconds), r.Unit, duration(r.hours()), money(r.hours()*price, currency))
	}
}

// share is two operations for each parameter and token, of what a large product does.
// Attention, and the output head where it is left out, are not taken into account.
func (m measurement) share(r measuredRow) string {
	if m.Ceilings.TFlops <= 0 {
		return ""
	}
	return digits(100*2*float64(r.Parameters)*float64(r.Tokens)/r.Seconds/(m.Ceilings.TFlops*1e12)) + " %"
}

// digits prints three that count, with spaces between thousands.
func digits(x float64) string {
	if x < 1000 {
		return fmt.Sprintf("%.3g", x)
	}
	text := fmt.Sprintf("%.0f", x)
	var parts []string
	for len(text) > 3 {
		parts = append([]string{text[len(text)-3:]}, parts...)
		text = text[:len(text)-3]
	}
	return strings.Join(append([]string{text}, parts...), " ")
}

func duration(hours float64) string {
	switch {
	case hours < 1./60:
		return digits(hours*3600) + " s"
	case hours < 2:
		return digits(hours*60) + " min"
	default:
		return digits(hours) + " h"
	}
}

func money(x float64, currency string) string {
	if x < 0.01 {
		return "below 0.01 " + currency
	}
	if x >= 1000 {
		return digits(x) + " " + currency
	}
	return fmt.Sprintf("%.2f %s", x, currency)
}
